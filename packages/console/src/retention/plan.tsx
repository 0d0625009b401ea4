import { Button, Modal, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { api } from '../api/client.ts';
import type { Plan, PlanRow, PlanTotals, RetentionRun } from '../api/types.ts';
import { useAct } from '../ui/act.ts';
import { isDay } from '../ui/day-range.ts';
import { ActionForm, faultText } from '../ui/form.tsx';
import { formatBytes, formatCount } from '../ui/format.ts';
import { FailurePanel, useFailure } from '../ui/freshness.tsx';
import { withoutUndefined } from '../ui/hash-state.ts';
import { SkeletonText } from '../ui/list.tsx';
import type { Column } from '../ui/table/column.ts';
import { columnsOf } from '../ui/table/columns.tsx';
import { DataTable } from '../ui/table/data-table.tsx';
import { countOf } from '../ui/words.ts';
import { usePlan } from './calls.ts';
import { HoldMark } from './marks.tsx';
import classes from './plan.module.css';
import { daysText } from './words.ts';

type RunDialogProps = {
  /** The tenant to run for; undefined means all. */
  tenant: string | undefined;
  isOpen: boolean;
  onClose: () => void;
  onStarted: (run: RetentionRun) => void;
};

/** The dialog that starts a run. It first shows what the run would do. */
export function RunDialog(props: RunDialogProps): ReactNode {
  const { tenant } = props;
  return (
    <Modal
      opened={props.isOpen}
      onClose={props.onClose}
      size={640}
      title={tenant === undefined ? 'Run for all tenants' : `Run for ${tenant}`}
    >
      <Question {...props} />
    </Modal>
  );
}

/** The content of the dialog: a date, the plan for it, and the button that starts the run. */
function Question({ tenant, onClose, onStarted }: RunDialogProps): ReactNode {
  const [before, setBefore] = useState('');
  const [text, setText] = useState('');
  const scope = { tenant, before: before === '' ? undefined : before };
  const plan = usePlan(scope);
  const failure = useFailure(plan);
  const start = useAct({
    call: () => api.post<RetentionRun>('/retention/run', withoutUndefined(scope)),
    onDone: (run) => {
      onStarted(run);
      onClose();
    },
  });
  // A plan for another date must not be confirmed: the numbers would be wrong.
  const known = plan.isPlaceholderData ? undefined : plan.data;
  const due = known === undefined ? 0 : known.totals.move.count + known.totals.delete.count;
  return (
    <ActionForm
      label="What a run does"
      call={start}
      onSend={() => start.mutate()}
      isReady={due > 0 && text.trim() === before}
      button={known === undefined ? 'Run' : answerText(known.totals)}
      isGrave={known !== undefined && known.totals.delete.count > 0}
      fault={faultText(start.error)}
      others={<Button onClick={onClose}>Cancel</Button>}
    >
      <TextInput
        label="Only days before (UTC)"
        description="A day as 2026-03-05; empty: all that the policies reach"
        maw={320}
        maxLength={10}
        value={text}
        error={text.trim() !== before && 'Not a day such as 2026-03-05'}
        onChange={(event) => {
          const written = event.currentTarget.value;
          setText(written);
          // What is no day yet leaves the plan of the day before it, which cannot be confirmed meanwhile.
          if (written.trim() === '' || isDay(written.trim())) setBefore(written.trim());
        }}
      />
      {failure !== null && plan.data === undefined ? (
        <FailurePanel error={failure} onRetry={() => void plan.refetch()} />
      ) : (
        <>
          <Totals totals={known?.totals} />
          <div className={classes.scroll}>
            {plan.data !== undefined && (
              <PlanTable rows={plan.data.data} isWaiting={plan.isPlaceholderData} hasTenant />
            )}
          </div>
          <MoreText plan={plan.data} />
        </>
      )}
    </ActionForm>
  );
}

function answerText({ move, delete: gone }: PlanTotals): string {
  if (move.count + gone.count === 0) return 'Nothing is due';
  const parts = [
    move.count > 0 ? `move ${countOf(move.count, 'record')}` : '',
    gone.count > 0 ? `delete ${countOf(gone.count, 'record')}` : '',
  ];
  const text = parts.filter((part) => part !== '').join(', ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** What the run would move and delete in all. */
function Totals({ totals }: { totals: PlanTotals | undefined }): ReactNode {
  if (totals === undefined) {
    return (
      <div className={classes.totals} role="status">
        <SkeletonText width="320px" />
      </div>
    );
  }
  const { move, delete: gone, held } = totals;
  const of = (sum: typeof move) =>
    `${countOf(sum.count, 'record')} · ${formatBytes(sum.bytes)} of ${countOf(sum.tenants, 'tenant')}`;
  return (
    <div className={classes.totals} role="status">
      {move.count === 0 ? (
        <p>Nothing is due to move to the cold tier.</p>
      ) : (
        <p>
          <strong>{of(move)}</strong> will move to the cold tier. Each copy is read back and
          compared before its source goes.
        </p>
      )}
      {gone.count > 0 && (
        <p className="danger">
          <strong>{of(gone)}</strong> will be deleted for good.
        </p>
      )}
      {held.count > 0 && (
        <p>
          <HoldMark /> keeps {of(held)} as it is.
        </p>
      )}
    </div>
  );
}

/** Says that the plan has more rows than are listed. */
function MoreText({ plan }: { plan: Plan | undefined }): ReactNode {
  const isMore = plan !== undefined && plan.next_cursor !== null;
  return (
    <p className={`muted ${classes.more}`}>
      {isMore && `The first ${formatCount(plan.data.length)} lines; the sums are of all.`}
    </p>
  );
}

/** What a run would do, with a row for each tenant. */
export function PlanTable(props: {
  rows: readonly PlanRow[];
  isWaiting?: boolean;
  hasTenant?: boolean;
}): ReactNode {
  const { rows, isWaiting = false, hasTenant = false } = props;
  return (
    <div className={`flex ${classes.plan}`}>
      <DataTable
        list="plan"
        label="The plan, line by line"
        columns={hasTenant ? planColumns : planOfTenant}
        rows={rows}
        keyOf={keyOfRow}
        place="plan"
        isWaiting={isWaiting}
      />
    </div>
  );
}

const keyOfRow = ({ tenant, kind, first_day }: PlanRow) => `${tenant} ${kind} ${first_day}`;

const column = columnsOf<PlanRow>();

const planColumns: readonly Column<PlanRow>[] = [
  column.text('tenant', 'TENANT', 72, { card: 'title' }),
  column.own('kind', 'WHAT', 96, {
    isMain: true,
    card: 'title',
    cell: (row) => <What row={row} />,
    value: ({ kind, held }) => (held ? `${kind}, held` : kind),
  }),
  column.own('days', 'DAYS', 176, {
    card: 'line',
    value: ({ first_day, last_day }) => daysText(first_day, last_day),
  }),
  column.count('records', 'RECORDS', 80, { card: 'fact', value: ({ count }) => count }),
  column.bytes('bytes', 'BYTES', 80, { rank: 1, card: 'note' }),
];
const planOfTenant = planColumns.slice(1);

/** What is done with the days: whether a hold keeps them, and what dataset versions keep. */
function What({ row }: { row: PlanRow }): ReactNode {
  const { kind, held, versions, versioned_count: kept } = row;
  return (
    <span className={kind === 'delete' && !held ? 'danger' : undefined}>
      {kind} {held && <HoldMark />}
      {kept > 0 && (
        <span className={`muted ${classes.kept}`} title={versions.join(', ')}>
          {formatCount(kept)} more are kept by{' '}
          {versions.length === 1 ? `the version ${versions[0] ?? ''}` : 'dataset versions'}
        </span>
      )}
    </span>
  );
}
