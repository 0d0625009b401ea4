import { Button, NumberInput, Switch } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { ApiError, api, isStepUp } from '../../api/client.ts';
import type { RetentionPolicy } from '../../api/types.ts';
import formClasses from '../../ui/form.module.css';
import { reasonOf } from '../../ui/outage.ts';
import { notify } from '../../ui/toasts.tsx';
import { policyPath, retentionKey } from '../calls.ts';
import { PolicyQuestion } from './policy-question.tsx';
import { changeOf, isChanged, isGraver, type PolicyValues, valuesOf } from './policy-values.ts';
import classes from './tenant.module.css';

const mostDays = 36_500;

/** The policy of a tenant, or the default. What deletes more is asked, with its effect. */
export function PolicyForm({ policy }: { policy: RetentionPolicy }): ReactNode {
  const form = usePolicyForm(policy);
  const { values, set, save } = form;
  const days = (name: 'hotDays' | 'deleteDays', min: number) => ({
    min,
    max: mostDays,
    allowDecimal: false,
    allowNegative: false,
    hideControls: true,
    clampBehavior: 'strict' as const,
    value: values[name],
    onChange: (value: number | string) => set({ [name]: typeof value === 'number' ? value : '' }),
  });
  const faults = faultsOf(save.error);
  return (
    <form className={formClasses.form} aria-label="Retention policy" onSubmit={form.submit}>
      <div className={classes.fields}>
        <NumberInput
          label="Hot for, days"
          description="Older whole days become cold"
          error={faults['/hot_days']}
          required
          withAsterisk={false}
          {...days('hotDays', 0)}
        />
        <NumberInput
          label="Deleted after, days"
          description="Older whole days go for good; empty: never"
          placeholder="never"
          error={faults['/delete_days']}
          {...days('deleteDays', 1)}
        />
      </div>
      <Switch
        label="Legal hold"
        description="Nothing of it is moved, merged, deleted or erased while this is on"
        checked={values.hold}
        onChange={(event) => set({ hold: event.currentTarget.checked })}
      />
      <div className={classes.answers}>
        <p className={classes.fault} role="alert">
          {faults['']}
        </p>
        {policy.tenant !== '*' && !policy.from_default && <BackToDefault tenant={policy.tenant} />}
        <Button
          type="submit"
          variant="filled"
          loading={save.isPending}
          disabled={!isChanged(policy, values) || changeOf(values) === undefined}
        >
          Save policy
        </Button>
      </div>
      <PolicyQuestion
        tenant={policy.tenant}
        values={form.isAsking ? values : null}
        onYes={form.confirm}
        onClose={form.keep}
      />
    </form>
  );
}

function usePolicyForm(policy: RetentionPolicy) {
  const client = useQueryClient();
  const [base, setBase] = useState(policy);
  const [values, setValues] = useState(() => valuesOf(policy));
  const [isAsking, setAsking] = useState(false);
  // Somebody else changed it: shown, unless that would overwrite what is being typed here.
  if (base.updated_at !== policy.updated_at) {
    setBase(policy);
    if (!isChanged(base, values)) setValues(valuesOf(policy));
  }
  const save = useMutation({
    mutationFn: () => api.put<RetentionPolicy>(policyPath(policy.tenant), changeOf(values)),
    onSuccess: (saved) => {
      client.setQueryData([...retentionKey, 'policy', policy.tenant], saved);
      setValues(valuesOf(saved));
      notify({ text: `Saved the policy of ${nameOf(policy.tenant)}. It acts at the next run.` });
    },
    onSettled: () => client.invalidateQueries({ queryKey: retentionKey }),
  });
  const set = (change: Partial<PolicyValues>) => {
    setValues((all) => ({ ...all, ...change }));
    if (save.error !== null) save.reset();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (save.isPending || changeOf(values) === undefined) return;
    if (isGraver(policy, values)) setAsking(true);
    else save.mutate();
  };
  const confirm = () => {
    setAsking(false);
    save.mutate();
  };
  return { values, set, save, submit, confirm, isAsking, keep: () => setAsking(false) };
}

export function nameOf(tenant: string): string {
  return tenant === '*' ? 'all tenants without their own' : tenant;
}

function BackToDefault({ tenant }: { tenant: string }): ReactNode {
  const client = useQueryClient();
  const remove = useMutation({
    mutationFn: () => api.delete(policyPath(tenant)),
    onSuccess: () => notify({ text: `${tenant} is under the default policy again.` }),
    onError: (error: Error) => {
      if (!isStepUp(error)) notify({ text: `Not changed. ${reasonOf(error)}` });
    },
    onSettled: () => client.invalidateQueries({ queryKey: retentionKey }),
  });
  return (
    <Button loading={remove.isPending} onClick={() => remove.mutate()}>
      Back to the default
    </Button>
  );
}

/** By field, as the service names them; '' is about the whole. Who closed the token's question knows. */
function faultsOf(error: Error | null): Partial<Record<string, string>> {
  if (error === null || isStepUp(error)) return {};
  if (error instanceof ApiError && error.errors.length > 0) {
    return Object.fromEntries(
      error.errors.map(({ path, message }) => [fields.includes(path) ? path : '', message]),
    );
  }
  return { '': reasonOf(error) };
}

const fields = ['/hot_days', '/delete_days'];
