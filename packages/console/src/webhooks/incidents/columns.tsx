import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Incident } from '../../api/types.ts';
import { CutText, Moment } from '../../ui/marks.tsx';
import type { Column } from '../../ui/table/column.ts';
import { ShortId } from '../../ui/table/whole-tips.tsx';
import { StatusMark } from '../marks.tsx';
import { urgentFirst } from '../words.ts';
import classes from './incidents.module.css';

/** The columns of the page INCIDENTS for those who may not retry. */
export const incidentColumns: readonly Column<Incident>[] = [
  {
    id: 'type',
    name: 'TYPE',
    width: 168,
    card: 'title',
    cell: ({ type }) => <CutText text={type} />,
    value: ({ type }) => type,
  },
  {
    id: 'id',
    name: 'ID',
    width: 92,
    rank: 3,
    cell: ({ id }, tabIndex) => <ShortId value={id} name="id" tabIndex={tabIndex} />,
    value: ({ id }) => id,
  },
  {
    id: 'tenant',
    name: 'TENANT',
    width: 104,
    card: 'line',
    cell: ({ tenant }) => <CutText text={tenant} />,
    value: ({ tenant }) => tenant,
  },
  {
    id: 'store',
    name: 'STORE',
    width: 88,
    rank: 2,
    card: 'line',
    cell: ({ store }) => <CutText text={store ?? '–'} />,
    value: ({ store }) => store,
  },
  {
    id: 'deliveries',
    name: 'DELIVERIES',
    width: 216,
    isMain: true,
    card: 'note',
    cell: ({ delivery_counts: counts }) => <Counts counts={counts} />,
    value: ({ delivery_counts: counts }) => countsText(counts),
  },
  {
    id: 'occurred_at',
    name: 'OCCURRED',
    width: 96,
    rank: 1,
    cell: ({ occurred_at: at }) => <Moment at={at} />,
    value: ({ occurred_at: at }) => at,
  },
  {
    id: 'created_at',
    name: 'REPORTED',
    width: 96,
    card: 'note',
    cell: ({ created_at: at }) => <Moment at={at} />,
    value: ({ created_at: at }) => at,
  },
];

/** The columns for admins, with RETRY where a delivery failed. */
export const adminColumns: readonly Column<Incident>[] = [
  ...incidentColumns,
  {
    id: 'action',
    name: 'ACTION',
    width: 92,
    isAction: true,
    cell: (incident, tabIndex) =>
      hasFailed(incident) && (
        <Button size="compact-xs" data-retry tabIndex={tabIndex}>
          RETRY
        </Button>
      ),
  },
];

/** Whether a delivery of the incident is pending or abandoned. */
export function hasFailed({ delivery_counts: counts }: Incident): boolean {
  return counts !== undefined && counts.pending + counts.abandoned > 0;
}

/** How many deliveries there are in each status. */
function Counts({ counts }: { counts: Incident['delivery_counts'] }): ReactNode {
  if (counts === undefined) return null;
  const present = urgentFirst.filter((status) => counts[status] > 0);
  if (present.length === 0) return <span className="muted">none: no endpoint took it</span>;
  return (
    <span className={classes.counts}>
      {present.map((status) => (
        <StatusMark key={status} status={status} count={counts[status]} />
      ))}
    </span>
  );
}

/** The same in words: `1 abandoned, 2 delivered`. */
function countsText(counts: Incident['delivery_counts']): string {
  if (counts === undefined) return '';
  return urgentFirst
    .filter((status) => counts[status] > 0)
    .map((status) => `${counts[status]} ${status}`)
    .join(', ');
}
