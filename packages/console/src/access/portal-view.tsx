import { Button } from '@mantine/core';
import { type ReactNode, useMemo } from 'react';
import { api } from '../api/client.ts';
import type { PortalLink } from '../api/types.ts';
import { useAct } from '../ui/act.ts';
import { Empty } from '../ui/list.tsx';
import { ListBar, NewButton } from '../ui/list-page.tsx';
import { Moment } from '../ui/marks.tsx';
import { useRead } from '../ui/poll.tsx';
import { type Column, idOf } from '../ui/table/column.ts';
import { columnsOf } from '../ui/table/columns.tsx';
import { List } from '../ui/table/list.tsx';
import { notify } from '../ui/toasts.tsx';
import { accessKey } from './use-access.ts';
import { browserText } from './words.ts';

/** The links by which people of tenants see their own webhooks, who has opened them, and the way to end one. */
export function PortalView({ views, onNew }: { views: ReactNode; onNew: () => void }): ReactNode {
  const list = useRead<{ data: PortalLink[] }>([...accessKey, 'portal'], '/webhook/portal-links');
  const { mutate: end } = useAct({
    call: ({ id }: PortalLink) => api.delete(`/webhook/portal-links/${encodeURIComponent(id)}`),
    onDone: (_answer, link) => notify({ text: `Link ended: ${nameOf(link)}` }),
    failed: 'Not ended',
    changes: accessKey,
  });
  const columns = useMemo(() => [...linkColumns, actionColumn(end)], [end]);
  return (
    <>
      <ListBar left={views} queries={[list]}>
        <NewButton what="link" onClick={onNew} />
      </ListBar>
      <List
        queries={[list]}
        name="links into the portal"
        empty={
          <Empty title="No links into the portal">
            <p>By a link somebody of a tenant sees its webhooks, and nothing else.</p>
          </Empty>
        }
        list="portal-links"
        label="Links into the portal"
        columns={columns}
        rows={list.data?.data ?? []}
        keyOf={idOf}
      />
    </>
  );
}

function nameOf({ tenant, subject }: PortalLink): string {
  return subject === null ? tenant : `${subject} of ${tenant}`;
}

const states = { new: 'not opened yet', open: 'open', ended: 'ended' } as const satisfies Record<
  PortalLink['state'],
  string
>;

const column = columnsOf<PortalLink>();

const linkColumns: readonly Column<PortalLink>[] = [
  column.text('tenant', 'TENANT', 104, { isMain: true, card: 'title' }),
  column.text('subject', 'FOR', 160, { card: 'line' }),
  column.own('state', 'STATE', 104, {
    card: 'fact',
    cell: ({ state }) => (
      <span className={`mark ${state === 'open' ? 'ok' : 'muted'}`}>{states[state]}</span>
    ),
  }),
  column.own('scope', 'MAY', 72, {
    card: 'fact',
    cell: ({ scope }) => (scope === 'webhooks:read' ? 'look' : 'change'),
  }),
  column.own('address', 'FROM', 128, { rank: 2, card: 'line' }),
  column.own('user_agent', 'BROWSER', 144, {
    rank: 3,
    card: 'note',
    cell: ({ user_agent: browser }) => (
      <span title={browser ?? undefined}>{browser === null ? '–' : browserText(browser)}</span>
    ),
  }),
  column.moment('created_at', 'MADE', 88, { rank: 1, card: 'fact' }),
  column.own('expires_at', 'ENDS', 88, {
    card: 'fact',
    cell: ({ state, expires_at: at }) => (state === 'ended' ? '–' : <Moment at={at} />),
  }),
  column.text('creator', 'MADE BY', 120, { rank: 2, value: ({ creator }) => creator.name }),
];

function actionColumn(onEnd: (link: PortalLink) => void): Column<PortalLink> {
  return column.action(80, (link, tabIndex) =>
    link.state === 'ended' ? null : (
      <Button size="compact-xs" tabIndex={tabIndex} onClick={() => onEnd(link)}>
        END
        <span className="visually-hidden"> the link for {nameOf(link)}</span>
      </Button>
    ),
  );
}
