import { NumberInput, Switch } from '@mantine/core';
import { type UseQueryResult, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { api, readPages } from '../../api/client.ts';
import type { DatasetRow, PolicyChange, RetentionPolicy } from '../../api/types.ts';
import { useAct } from '../../ui/act.ts';
import { AskButton, ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { dayAfter, dayMillis } from '../../ui/days.ts';
import { ActionForm, faultsOf } from '../../ui/form.tsx';
import { formatCount } from '../../ui/format.ts';
import { useFailure } from '../../ui/freshness.tsx';
import { SkeletonText } from '../../ui/list.tsx';
import { reasonOf } from '../../ui/outage.ts';
import { useRead } from '../../ui/poll.tsx';
import { notify } from '../../ui/toasts.tsx';
import { differing } from '../../ui/use-form.ts';
import { countOf } from '../../ui/words.ts';
import { policyPath, retentionKey } from '../calls.ts';
import classes from './tenant.module.css';

const mostDays = 36_500;

/** The form for a policy. A change that deletes more, or lifts a hold, is confirmed first, with its effect. */
export function PolicyForm({ policy }: { policy: RetentionPolicy }): ReactNode {
  const form = usePolicyForm(policy);
  const { values, set, save } = form;
  const days = (name: 'hotDays' | 'deleteDays', min: number) => ({
    min,
    max: mostDays,
    clampBehavior: 'strict' as const,
    value: values[name],
    onChange: (value: number | string) => set({ [name]: typeof value === 'number' ? value : '' }),
  });
  const faults = faultsOf(save.error, ['hot_days', 'delete_days']);
  return (
    <ActionForm
      label="Retention policy"
      call={save}
      onSend={form.send}
      isReady={isChanged(policy, values) && changeOf(values) !== undefined}
      button="Save policy"
      fault={faults[''] ?? ''}
      others={policy.tenant !== '*' && !policy.from_default && <BackToDefault {...policy} />}
    >
      <div className={`grid ${classes.fields}`}>
        <NumberInput
          label="Hot for, days"
          description="Older whole days become cold"
          error={faults.hot_days}
          required
          withAsterisk={false}
          {...days('hotDays', 0)}
        />
        <NumberInput
          label="Deleted after, days"
          description="Older whole days go for good"
          placeholder="never"
          error={faults.delete_days}
          {...days('deleteDays', 1)}
        />
      </div>
      <Switch
        label="Legal hold"
        description="Nothing of it is moved, merged, deleted or erased while this is on"
        checked={values.hold}
        onChange={(event) => set({ hold: event.currentTarget.checked })}
      />
      {form.isAsking && (
        <PolicyQuestion
          tenant={policy.tenant}
          deleteDays={values.deleteDays}
          isLifting={policy.hold && !values.hold}
          onYes={() => save.mutate()}
          onClose={form.keep}
        />
      )}
    </ActionForm>
  );
}

/** The state of the form: its values, its faults, and saving. */
function usePolicyForm(policy: RetentionPolicy) {
  const client = useQueryClient();
  const [base, setBase] = useState(policy);
  const [values, setValues] = useState(() => valuesOf(policy));
  const [isAsking, setAsking] = useState(false);
  // Somebody else has changed the policy. All is sent at once, so the form takes over what was not typed here.
  if (base.updated_at !== policy.updated_at) {
    setBase(policy);
    setValues({ ...valuesOf(policy), ...differing(valuesOf(base), values) });
  }
  const save = useAct({
    // What is shown is what the change goes out from: a hold that was set since is not lifted by it.
    call: () => {
      const body = { ...changeOf(values), if_updated_at: policy.updated_at };
      return api.put<RetentionPolicy>(policyPath(policy.tenant), body);
    },
    onDone: (saved) => {
      client.setQueryData([...retentionKey, 'policy', policy.tenant], saved);
      setValues(valuesOf(saved));
      notify({ text: `Saved the policy of ${nameOf(policy.tenant)}. It acts at the next run.` });
    },
    changes: retentionKey,
  });
  const set = (change: Partial<PolicyValues>) => {
    setValues((all) => ({ ...all, ...change }));
    if (save.error !== null) save.reset();
  };
  const send = () => {
    if (isGraver(policy, values)) setAsking(true);
    else save.mutate();
  };
  return { values, set, save, send, isAsking, keep: () => setAsking(false) };
}

function nameOf(tenant: string): string {
  return tenant === '*' ? 'all tenants without their own' : tenant;
}

/** The button that removes a tenant's own policy. */
function BackToDefault({ tenant, hold, updated_at }: RetentionPolicy): ReactNode {
  const remove = useAct({
    call: () => api.delete(`${policyPath(tenant)}?if_updated_at=${encodeURIComponent(updated_at)}`),
    onDone: () => notify({ text: `${tenant} is under the default policy again.` }),
    failed: 'Not changed',
    changes: retentionKey,
  });
  return (
    <AskButton
      text="Back to the default"
      isBusy={remove.isPending}
      title={`Put ${tenant} under the default policy?`}
      answer="Remove its own policy"
      onYes={() => remove.mutate()}
    >
      {`${hold ? 'This lifts its legal hold. ' : ''}What the default policy deletes goes for good at the next run.`}
    </AskButton>
  );
}

/** The question before a policy is saved that deletes more, with how many records would go, or that lifts a hold. */
function PolicyQuestion(props: {
  tenant: string;
  deleteDays: number | '';
  isLifting: boolean;
  onYes: () => void;
  onClose: () => void;
}): ReactNode {
  const { tenant, deleteDays, isLifting, ...answers } = props;
  const deletion =
    tenant === '*' ? 'Delete by default?' : `Delete records of ${tenant} by this policy?`;
  return (
    <ConfirmDialog
      title={isLifting ? `Lift the legal hold of ${nameOf(tenant)}?` : deletion}
      keep="Keep it as it is"
      answer={deleteDays === '' ? 'Lift the hold' : `Delete after ${formatCount(deleteDays)} days`}
      {...answers}
    >
      {isLifting && <p>What it kept is moved from the next run on, and can be erased.</p>}
      {deleteDays !== '' && <Effect tenant={tenant} deleteDays={deleteDays} />}
    </ConfirmDialog>
  );
}

/** How many records a shorter life would delete. */
function Effect({ tenant, deleteDays }: { tenant: string; deleteDays: number }): ReactNode {
  const isDefault = tenant === '*';
  const firstKept = firstDayKept(deleteDays, Date.now());
  const effect = useEffectOfDeletion(tenant, isDefault ? undefined : firstKept);
  const failure = useFailure(effect);
  if (isDefault) {
    return (
      <p>
        Records older than {formatCount(deleteDays)} days go for good at the next run, of every
        tenant without a policy of its own. DUE TO BE DELETED then says how many.
      </p>
    );
  }
  if (failure !== null) return <p role="alert">How many is unknown: {reasonOf(failure)}</p>;
  return (
    <p role="status">
      {effect.data === undefined ? (
        <SkeletonText width="280px" />
      ) : (
        <>
          <strong>
            {effect.data.isPart ? 'At least ' : ''}
            {countOf(effect.data.count, 'record')}
          </strong>{' '}
          of days before {effect.data.firstKept} go for good at the next run. Nothing brings them
          back.
        </>
      )}
    </p>
  );
}

type DeletedCount = {
  readonly count: number;
  readonly firstKept: string;
  /** True when there are more leaves than were counted. */
  readonly isPart: boolean;
};

/** Counts, by the counters of its days, the records of a tenant that are older than a day, when it is shown. */
function useEffectOfDeletion(
  tenant: string,
  firstKept: string | undefined,
): UseQueryResult<DeletedCount> {
  const read = async (signal: AbortSignal) => {
    const params = { tenant, level: 'month', include: 'days' };
    const { rows, isPart } = await readPages<DatasetRow>('/enrichment/datasets', params, signal);
    const counts = rows.map(({ month, days }) =>
      month === null ? 0 : countBefore(month, days ?? [], firstKept ?? ''),
    );
    const count = counts.reduce((sum, each) => sum + each, 0);
    return { count, firstKept: firstKept ?? '', isPart };
  };
  const options = { isFresh: true, isWanted: firstKept !== undefined };
  return useRead([...retentionKey, 'effect', tenant, firstKept], read, options);
}

/** The fields of the form as typed; '' where a field is empty. */
type PolicyValues = {
  readonly hotDays: number | '';
  readonly deleteDays: number | '';
  readonly hold: boolean;
};

type Kept = Pick<RetentionPolicy, 'hot_days' | 'delete_days' | 'hold'>;

/** A policy as fields of the form. */
export function valuesOf({ hot_days, delete_days, hold }: Kept): PolicyValues {
  return { hotDays: hot_days, deleteDays: delete_days ?? '', hold };
}

/** The change to send; undefined while the form cannot be sent. */
export function changeOf({ hotDays, deleteDays, hold }: PolicyValues): PolicyChange | undefined {
  if (hotDays === '') return undefined;
  return { hot_days: hotDays, delete_days: deleteDays === '' ? null : deleteDays, hold };
}

/** Whether the form differs from the policy with which it began. */
export function isChanged(before: Kept, values: PolicyValues): boolean {
  return JSON.stringify(valuesOf(before)) !== JSON.stringify(values);
}

/** Whether the change lifts a hold, or may delete records that would have stayed. Then the form asks first. */
export function isGraver(before: Kept, { deleteDays, hold }: PolicyValues): boolean {
  if (before.hold || hold) return !hold;
  return deleteDays !== '' && deleteDays < (before.delete_days ?? Number.POSITIVE_INFINITY);
}

/** The first day that is kept when whole days older than `deleteDays` are deleted. */
export function firstDayKept(deleteDays: number, now: number): string {
  return dayAfter(0, Math.max(0, Math.floor(now / dayMillis) - deleteDays));
}

/** Number of records of a month on days before `firstKept`. `days` has the counts from the 1st on. */
export function countBefore(month: string, days: readonly number[], firstKept: string): number {
  const end = month < firstKept.slice(0, 7) ? days.length : Number(firstKept.slice(8)) - 1;
  if (month > firstKept.slice(0, 7)) return 0;
  return days.slice(0, end).reduce((sum, count) => sum + count, 0);
}
