import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Incident } from '../../api/types.ts';
import { formatCount } from '../../ui/format.ts';
import { PendingIcon } from '../../ui/icons.tsx';
import type { Column } from '../../ui/table/column.ts';
import { columnsOf } from '../../ui/table/columns.tsx';
import { StatusMark, urgentFirst } from '../marks.tsx';
import classes from './incidents.module.css';

const column = columnsOf<Incident>();

/** The columns of the page INCIDENTS, with RETRY where a delivery failed. */
export const incidentColumns: readonly Column<Incident>[] = [
  column.text('type', 'TYPE', 168, { card: 'title' }),
  column.shortId('id', 'ID', 92, { rank: 3 }),
  column.text('tenant', 'TENANT', 104, { card: 'line' }),
  column.text('store', 'STORE', 88, { rank: 2, card: 'line' }),
  column.own('deliveries', 'DELIVERIES', 216, {
    isMain: true,
    card: 'note',
    cell: (incident) => <Counts incident={incident} />,
    value: countsText,
  }),
  column.moment('occurred_at', 'OCCURRED', 96, { rank: 1 }),
  column.moment('created_at', 'REPORTED', 96, { card: 'note' }),
  column.action(
    92,
    (incident, tabIndex) =>
      hasFailed(incident) && (
        <Button size="compact-xs" data-retry tabIndex={tabIndex}>
          RETRY
        </Button>
      ),
  ),
];

/** Whether a delivery of the incident is pending or abandoned. */
export function hasFailed({ delivery_counts: counts }: Incident): boolean {
  return counts !== undefined && counts.pending + counts.abandoned > 0;
}

/** How many deliveries there are in each status, and how many endpoints still miss it. */
function Counts({ incident }: { incident: Incident }): ReactNode {
  const { delivery_counts: counts, held_back: held = [] } = incident;
  if (counts === undefined) return null;
  const present = urgentFirst.filter((status) => counts[status] > 0);
  if (present.length + held.length === 0)
    return <span className="muted">none: no endpoint took it</span>;
  return (
    <span className={`wrap ${classes.counts}`}>
      {present.map((status) => (
        <StatusMark key={status} status={status} count={counts[status]} />
      ))}
      {held.length > 0 && (
        <span className="word-mark warn" title="Too much waited: a replay sends it">
          <PendingIcon />
          {formatCount(held.length)} held back
        </span>
      )}
    </span>
  );
}

/** The same in words: `1 abandoned, 2 delivered`. */
function countsText({ delivery_counts: counts, held_back: held = [] }: Incident): string {
  if (counts === undefined) return '';
  const texts = urgentFirst
    .filter((status) => counts[status] > 0)
    .map((status) => `${counts[status]} ${status}`);
  return [...texts, ...(held.length > 0 ? [`${held.length} held back`] : [])].join(', ');
}
