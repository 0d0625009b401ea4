import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { api } from '../api/client.ts';
import type { Approval } from '../api/types.ts';
import { useAct } from '../ui/act.ts';
import { AskButton } from '../ui/confirm-dialog.tsx';
import { Drawer } from '../ui/drawer.tsx';
import { copied, Facts } from '../ui/facts.tsx';
import { Empty } from '../ui/list.tsx';
import { ListBar } from '../ui/list-page.tsx';
import { Instant, Moment } from '../ui/marks.tsx';
import { useRead } from '../ui/poll.tsx';
import { type Column, idOf } from '../ui/table/column.ts';
import { columnsOf } from '../ui/table/columns.tsx';
import { List } from '../ui/table/list.tsx';
import { notify } from '../ui/toasts.tsx';
import { accessKey } from './use-access.ts';

/** What one has asked for and somebody else must confirm, and what became of it. */
export function ApprovalsView(props: {
  views: ReactNode;
  /** The id of the request that the panel shows. */
  open: string | undefined;
  onOpen: (id: string) => void;
}): ReactNode {
  const list = useRead<{ data: Approval[] }>([...accessKey, 'approvals'], '/approvals');
  return (
    <>
      <ListBar left={props.views} queries={[list]} />
      <List
        queries={[list]}
        name="what waits to be confirmed"
        empty={
          <Empty title="Nothing waits to be confirmed">
            <p>
              The setting SVC_FOUR_EYES says what one asks for and somebody else confirms, such as
              erasures.
            </p>
          </Empty>
        }
        list="approvals"
        label="What waits to be confirmed"
        columns={columns}
        rows={list.data?.data ?? []}
        keyOf={idOf}
        open={props.open}
        onOpen={props.onOpen}
      />
    </>
  );
}

const approvalPath = (id: string) => `/approvals/${encodeURIComponent(id)}`;

const askerOf = ({ asked_by, is_own }: Approval) =>
  is_own ? `${asked_by.name} (you)` : asked_by.name;

const column = columnsOf<Approval>();

const columns: readonly Column<Approval>[] = [
  column.sentence('says', 'WHAT', 280, { isMain: true, card: 'title' }),
  column.own('state', 'STATE', 96, {
    card: 'fact',
    cell: ({ state }) => (
      <span className={`mark ${state === 'waiting' ? 'warn' : 'muted'}`}>{state}</span>
    ),
  }),
  column.text('asker', 'ASKED BY', 144, { card: 'line', value: askerOf }),
  column.moment('asked_at', 'ASKED', 88, { rank: 1, card: 'fact' }),
  column.own('expires_at', 'EXPIRES', 88, {
    card: 'fact',
    cell: ({ state, expires_at: at }) => (state === 'waiting' ? <Moment at={at} /> : '–'),
  }),
  column.text('ended_by', 'ENDED BY', 120, {
    rank: 2,
    card: 'line',
    value: ({ ended_by }) => ended_by?.name ?? null,
  }),
];

/** One request: what it does, the call as it was sent, and the buttons that confirm and reject it. */
export function ApprovalPanel({ id, onClose }: { id: string; onClose: () => void }): ReactNode {
  const query = useRead<Approval & { body: unknown }>(
    [...accessKey, 'approvals', id],
    approvalPath(id),
    { isOne: true },
  );
  return (
    <Drawer
      kind="REQUEST"
      title={query.data?.says ?? id}
      id={id}
      noun="request"
      query={query}
      rows={10}
      actions={(row) => row.state === 'waiting' && <Answers row={row} />}
      onClose={onClose}
    >
      {(row) => (
        <Facts
          facts={{
            state: row.state,
            'asked by': askerOf(row),
            asked: <Instant at={row.asked_at} />,
            from: row.address,
            with: row.user_agent,
            call: `${row.method} ${row.path}`,
            body: row.body === null ? null : JSON.stringify(row.body, null, 1),
            tenant: row.tenant ?? 'all',
            expires: <Instant at={row.expires_at} />,
            ended: row.ended_at === null ? undefined : <Instant at={row.ended_at} />,
            'ended by': row.ended_by?.name,
            outcome:
              row.outcome ??
              (row.state === 'confirmed'
                ? 'it runs, or broke off: ask anew for what is left'
                : undefined),
            id: copied(row.id),
          }}
        />
      )}
    </Drawer>
  );
}

function Answers({ row }: { row: Approval }): ReactNode {
  const path = approvalPath(row.id);
  const confirm = useAct({
    call: () => api.post(`${path}/confirm`, {}),
    onDone: () => notify({ text: `Confirmed: ${row.says}` }),
    failed: 'Not confirmed',
    changes: accessKey,
  });
  const reject = useAct({
    call: () => api.post(`${path}/reject`, {}),
    onDone: () => notify({ text: `${row.is_own ? 'Withdrawn' : 'Rejected'}: ${row.says}` }),
    failed: 'Not rejected',
    changes: accessKey,
  });
  return (
    <div className="drawer-actions">
      {!row.is_own && (
        <AskButton
          text="Confirm"
          isBusy={confirm.isPending}
          title="Do it now?"
          answer="Confirm"
          onYes={() => confirm.mutate()}
        >
          {`${row.says} ${row.asked_by.name} asked for it. It cannot be undone.`}
        </AskButton>
      )}
      <Button loading={reject.isPending} onClick={() => reject.mutate()}>
        {row.is_own ? 'Withdraw' : 'Reject'}
      </Button>
      {row.is_own && <span className="muted">Somebody else must confirm it.</span>}
    </div>
  );
}
