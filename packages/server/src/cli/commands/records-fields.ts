import { formatCount, numberOf } from '../../kernel/values.ts';
import { call } from '../act.ts';
import type { RouteAnswer } from '../client.ts';
import { columnsOf } from '../columns.ts';
import { noteEmptySlice } from '../empty-slice.ts';
import { formatShare } from '../format.ts';
import { checkDays, datasetOption, placeOptions, whereOption } from '../slice.ts';
import type { Column } from '../table.ts';

type Answer = RouteAnswer<'GET /enrichment/fields'>;
type Field = Answer['fields'][number];
type Described = NonNullable<Field['against']>;

export const fields = call('GET /enrichment/fields', {
  summary: 'tell which fields the enrichments have, and what is in them',
  description:
    'Tells which fields the enrichments of a slice have, in how many records they are, and what is typical: of numbers the middle and where nine of ten lie, of others the most frequent values. Of many records a sample is looked at, always the same one; ± says how far a share may be off. With --against: how much each field differs from another slice, from 0 (the same) to 1 (nothing in common), and how much sampling alone may make of it.',
  examples: [
    'svcctl records fields --tenant TX --month 2026-03',
    'svcctl records fields --tenant TX --dataset training --against all',
    `svcctl records fields --tenant TX --where 'score >= 0.9'`,
    'svcctl records fields --tenant TX --month 2026-03 --against 2026-02 --json',
  ],
  options: [
    ...placeOptions,
    datasetOption,
    whereOption,
    [
      '--against <slice>',
      'compare with all, a dataset, a month as 2026-02, or days as 2026-02-01..2026-02-07',
    ],
  ],
  check: checkDays,
  async read(context, client, query) {
    const answer = await client.json('GET /enrichment/fields', { query });
    if (answer.count === 0) await noteEmptySlice(context, client, query);
    return answer;
  },
  table: ({ fields: rows, against }) => ({
    rows,
    columns: against === null ? ownColumns : [...ownColumns, ...driftColumns],
  }),
  next: (answer) => (answer.count === 0 ? null : lineBelow(answer)),
});

const { text, word, count } = columnsOf<Field>();

const ownColumns: Column<Field>[] = [
  text('FIELD', 'name', { leastWidth: 16 }),
  word('TYPE', ({ types }) => types.map(({ type }) => type).join('|') || null, { givesWay: 1 }),
  count('PRESENT', ({ present }) => present.share, { shown: ({ present }) => withError(present) }),
  text('TYPICAL', typicalOf, { leastWidth: 20 }),
];

const driftColumns: Column<Field>[] = [
  text('AGAINST', ({ against }) => against && typicalOf(against), { leastWidth: 12 }),
  count('DRIFT', ({ drift }) => drift?.distance ?? null, {
    shown: ({ drift }) => (drift?.distance ?? 0).toFixed(3),
  }),
  count('BY CHANCE', ({ drift }) => drift?.noise ?? null, {
    shown: ({ drift }) => (drift?.noise ? `< ${drift.noise.toFixed(3)}` : '0'),
  }),
];

function withError({ share, low, high }: { share: number; low: number; high: number }): string {
  const points = 50 * (high - low);
  return points < 0.5 ? formatShare(share) : `${formatShare(share)} ±${Math.ceil(points)}`;
}

/** Up to so many values are named. */
const namedValues = 3;

/** What is typical of a field: the middle of its numbers and where nine of ten lie, or its most frequent values. */
function typicalOf({ numbers, values, distinct }: Described): string | null {
  if (numbers !== null && distinct > values.length) {
    const at = (percent: number) =>
      shortNumber(numbers.quantiles.find((one) => one.percent === percent)?.value ?? 0);
    return `${at(50)} (${at(5)} … ${at(95)})`;
  }
  const [first] = values;
  if (first === undefined) return null;
  if (first.count === 1 && distinct > namedValues) return `all different, such as ${first.value}`;
  const named = values
    .slice(0, namedValues)
    .map(({ value, share }) => `${value} ${formatShare(share)}`);
  return distinct > namedValues
    ? `${named.join(', ')} of ${numberOf(distinct, 'value')}`
    : named.join(', ');
}

function shortNumber(value: number): string {
  return String(Number(value.toPrecision(4)));
}

/** `24 fields · in a sample of 10,000 of 93,233 records · against all 1,200 records`. */
function lineBelow({ fields: shown, left_off: leftOff, against, ...own }: Answer): string {
  return [
    numberOf(shown.length, 'field'),
    ...(leftOff > 0 ? [`${formatCount(leftOff)} or more left off`] : []),
    sampleText(own),
    ...(against === null ? [] : [`against ${sampleText(against)}`]),
    ...(own.unread > 0 ? [`${numberOf(own.unread, 'record')} too large to be looked at`] : []),
  ].join(' · ');
}

function sampleText({
  is_exact,
  count: all,
  sampled,
  fitting,
}: Pick<Answer, 'is_exact' | 'count' | 'sampled' | 'fitting'>) {
  if (fitting !== null) {
    const fit = `${formatCount(sampled)} of ${numberOf(all, 'record')}, of which ${withError(fitting)} fit`;
    return is_exact ? fit : `a sample of ${fit}`;
  }
  if (is_exact) return `all ${numberOf(all, 'record')}`;
  return `a sample of ${formatCount(sampled)} of ${numberOf(all, 'record')}`;
}
