import { Button } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useMemo } from 'react';
import { api } from '../api/client.ts';
import type { Page, Session } from '../api/types.ts';
import { useAct } from '../ui/act.ts';
import { Empty } from '../ui/list.tsx';
import { ListBar } from '../ui/list-page.tsx';
import { CutText } from '../ui/marks.tsx';
import { useRead } from '../ui/poll.tsx';
import { useSession } from '../ui/session.ts';
import { type Column, idOf } from '../ui/table/column.ts';
import { columnsOf } from '../ui/table/columns.tsx';
import { List } from '../ui/table/list.tsx';
import { notify } from '../ui/toasts.tsx';
import { accessKey } from './use-access.ts';
import { browserText } from './words.ts';

/** Who is signed in to a console, and the way to end that. */
export function SessionsView({ views }: { views: ReactNode }): ReactNode {
  const list = useRead<Page<Session>>([...accessKey, 'sessions'], '/sessions');
  const client = useQueryClient();
  const { mutate: end } = useAct({
    call: ({ id }: Session) => api.delete(`/sessions/${encodeURIComponent(id)}`),
    onDone: (_answer, { actor }) => notify({ text: `Session ended: ${actor.name}` }),
    failed: 'Not ended',
    changes: accessKey,
  });
  const leave = useAct({
    call: () => api.delete('/sessions'),
    // The session of this page has ended, too: the next call asks to sign in.
    onDone: () => client.invalidateQueries(),
    failed: 'Not signed out',
  });
  const isAdmin = useSession().hasScope('admin');
  const columns = useMemo(
    () => (isAdmin ? [...factColumns, actionColumn(end)] : factColumns),
    [end, isAdmin],
  );
  const rows = list.data?.data;
  return (
    <>
      <ListBar left={views} queries={[list]}>
        <Button
          loading={leave.isPending}
          title="Ends all sessions of your token, on every machine"
          onClick={() => leave.mutate()}
        >
          Sign out everywhere
        </Button>
      </ListBar>
      <List
        queries={[list]}
        name="sessions"
        empty={<Empty title="Nobody is signed in" />}
        list="sessions"
        label="Console sessions"
        columns={columns}
        rows={rows ?? []}
        keyOf={idOf}
      />
    </>
  );
}

const column = columnsOf<Session>();

const factColumns: readonly Column<Session>[] = [
  column.own('actor', 'SIGNED IN AS', 200, {
    isMain: true,
    card: 'title',
    cell: ({ actor, is_current }) => (
      <span className="flex shrink">
        <CutText text={actor.name} />
        {is_current && <span className="muted">&nbsp;· this session</span>}
      </span>
    ),
    value: ({ actor }) => actor.name,
  }),
  column.own('address', 'FROM', 128, { card: 'line' }),
  column.own('user_agent', 'BROWSER', 160, {
    rank: 1,
    card: 'note',
    cell: ({ user_agent }) => (
      <span title={user_agent ?? undefined}>{browserText(user_agent)}</span>
    ),
  }),
  column.moment('created_at', 'SINCE', 96, { card: 'fact' }),
  column.moment('expires_at', 'UNTIL', 96, { card: 'fact' }),
];

function actionColumn(onEnd: (session: Session) => void): Column<Session> {
  return column.action(80, (session, tabIndex) => (
    <Button size="compact-xs" tabIndex={tabIndex} onClick={() => onEnd(session)}>
      END
      <span className="visually-hidden"> the session of {session.actor.name}</span>
    </Button>
  ));
}
