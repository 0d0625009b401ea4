import type { ReactNode } from 'react';
import type { Incident } from '../../api/types.ts';
import { formatCount } from '../../ui/format.ts';
import { PendingIcon } from '../../ui/icons.tsx';
import { LiveButton } from '../../ui/live-button.tsx';
import type { Column } from '../../ui/table/column.ts';
import { columnsOf } from '../../ui/table/columns.tsx';
import { StatusMark, urgentFirst } from '../marks.tsx';
import classes from './incidents.module.css';

const column = columnsOf<Incident>();

/** The columns of the page INCIDENTS, with RETRY where a delivery failed. */
export const incidentColumns: readonly Column<Incident>[] = [
  column.text('type', 'TYPE', 168, { card: 'title' }),
  column.shortId('id', 'ID', 92, { rank: 4 }),
  column.text('tenant', 'TENANT', 104, { card: 'line' }),
  column.text('store', 'STORE', 88, { rank: 2, card: 'line' }),
  column.text('group', 'GROUP', 104, { rank: 1, card: 'line' }),
  column.sentence('excerpt', 'WHAT', 168, {
    isMain: true,
    card: 'line',
    value: ({ excerpt }) => (excerpt == null ? null : wordsOf(excerpt)),
  }),
  column.own('deliveries', 'DELIVERIES', 216, {
    card: 'note',
    cell: (incident) => <Counts incident={incident} />,
    shown: (incident) => `      ${countsText(incident)}`,
    value: countsText,
  }),
  column.moment('occurred_at', 'OCCURRED', 96, { rank: 3 }),
  column.moment('created_at', 'REPORTED', 96, { card: 'note' }),
  column.action(
    92,
    (incident, tabIndex) =>
      hasFailed(incident) && (
        <LiveButton size="compact-xs" data-retry tabIndex={tabIndex}>
          RETRY
        </LiveButton>
      ),
  ),
];

/** How data begins, to be read at a glance: `gate: B4, delay: 12` of `{"gate":"B4","delay":12`. */
export function wordsOf(excerpt: string): string {
  // The last text may be cut, and then it has no end.
  const signs = /"((?:[^"\\]|\\.)*)"?|[{}[\]:,]/gs;
  const words = excerpt.replace(signs, (sign: string, text?: string) =>
    text === undefined ? (spaced[sign] ?? '') : unescaped(text),
  );
  const letters = [...words];
  return letters.length > mostShown ? `${letters.slice(0, mostShown).join('')}…` : words.trim();
}

/** What a text of JSON says; one that was cut within an escape stays as it is. */
function unescaped(text: string): string {
  try {
    return String(JSON.parse(`"${text}"`));
  } catch {
    return text;
  }
}

/** About two lines of a card. */
const mostShown = 80;
const spaced: Readonly<Record<string, string>> = { ':': ': ', ',': ', ' };

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
    return <span className="muted">none: no endpoint was to get it</span>;
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
