import type { Actor } from '../../kernel/actor.ts';
import { compareText } from '../../kernel/names.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import { queryInGroups, readTwice } from '../read/open-segments.ts';
import type { DayInSegment, Segment } from '../read/queries.ts';
import { listSliceSegments } from '../read/sum-segments.ts';
import { type ColdReader, dayKey } from '../segments/segment.ts';
import { readSegments } from '../segments/segment-sql.ts';
import { coldConditions } from '../slice/cold-sql.ts';
import { isOutOfReach, type Slice, type SliceRequest, toSlice } from '../slice/slice.ts';
import { withTags } from '../tags/windows.ts';
import type { Facts } from '../tags.contract.ts';
import {
  type PickedStore,
  phaseOf,
  pickDays,
  type SampleSize,
  spread,
  type Take,
  takeAll,
  toSampledStretches,
  toWholeStretches,
} from './pick-days.ts';
import type { LabelTally } from './queries.ts';
import * as queries from './queries.ts';

const usualSize: SampleSize = { records: 10_000, places: 20, mostPlaces: 200, keysEach: 10 };

/** Returns the kinds, sources and models of a slice. Throws 400 `request_invalid` or 500 `segment_damaged`. */
export async function readFacts(
  { db, cold }: { db: Database; cold: ColdReader },
  actor: Actor,
  request: SliceRequest & { tenant: string },
  size = usualSize,
): Promise<Facts> {
  const { tenant } = request;
  const slice = toSlice(request, actor, '?');
  if (isOutOfReach(slice, actor)) return toFacts(0, []);
  return readTwice(async () => {
    // All of this reads one snapshot: a record that moves between two statements would otherwise be looked at twice or
    // not at all.
    const { count, hot, parts, sqlOf } = await db.transaction(
      async (connection) => {
        const tagged = { ...(await withTags(connection, slice)), tenant };
        const sample = { size, phase: phaseOf(tenant) };
        const stores = await queries.pickStores(connection, tagged, sample);
        const isSmall = (stores[0]?.total ?? 0) <= size.records;
        if (isSmall) return lookAtAll(connection, tagged);
        return lookAtSample(connection, tagged, { ...sample, stores });
      },
      { isolation: 'repeatable read' },
    );
    const rows = await queryInGroups<{ tally: string }, Part>(cold, parts, sqlOf);
    const tallies = rows.map(({ tally }) => JSON.parse(tally) as LabelTally);
    return toFacts(count, [...hot, ...tallies]);
  });
}

type TenantSlice = Slice & { readonly tenant: string };

/** What the snapshot told. The rest must be read from segments. */
type Look = {
  /** The number of records of the slice. */
  count: number;
  hot: LabelTally[];
  parts: Part[];
  sqlOf: (paths: readonly string[], group: readonly Part[]) => string;
};

/** The numbers of the rows that are looked at; none where whole segments are searched. */
type Part = { readonly segment: Segment; readonly rows: number[] };

async function lookAtAll(db: Queryable, slice: TenantSlice): Promise<Look> {
  const days = await queries.listStoreDays(db, slice, null);
  const takes = takeAll(days);
  const isCold = takes.some(({ cold }) => cold > 0);
  const segments = isCold ? await listSliceSegments(db, slice) : [];
  return {
    count: days.reduce((sum, { count }) => sum + count, 0),
    hot: await queries.tallyHotRecords(db, slice, toWholeStretches(takes)),
    parts: segments.map((segment) => ({ segment, rows: [] })),
    // A few records may stand in very many places, so whole segments are searched for them instead.
    sqlOf: (paths) => tallySliceSql(paths, slice),
  };
}

async function lookAtSample(
  db: Queryable,
  slice: TenantSlice,
  sample: { stores: readonly PickedStore[]; size: SampleSize; phase: number },
): Promise<Look> {
  const { stores, size } = sample;
  const names = stores.map(({ store }) => store);
  const takes = pickDays(stores, await queries.listStoreDays(db, slice, names), sample);
  const whole = toWholeStretches(takes);
  const sampled = toSampledStretches(takes, size.keysEach);
  const cold = takes.filter((take) => take.cold > 0);
  const places = cold.length === 0 ? [] : await queries.listPlaces(db, slice.tenant, cold);
  return {
    count: stores[0]?.total ?? 0,
    hot: [
      ...(whole.length === 0 ? [] : await queries.tallyHotRecords(db, slice, whole)),
      ...(sampled.length === 0 ? [] : await queries.tallyHotSample(db, slice, sampled)),
    ],
    parts: toParts(cold, places),
    sqlOf: (paths, group) =>
      tallyRowsSql(group.map(({ rows }, n) => ({ path: paths[n] ?? '', rows }))),
  };
}

/** Returns the cold rows that are to be looked at, by segment: spread evenly over all those of each day. */
function toParts(takes: readonly Take[], places: readonly DayInSegment[]): Part[] {
  const wanted = new Map(
    takes.map((take) => [
      dayKey(take),
      { rows: spread(take.coldCount, take.cold, phaseOf(take.store, take.day)), before: 0 },
    ]),
  );
  const parts = new Map<string, Part>();
  for (const place of places) {
    const own = wanted.get(dayKey(place));
    if (own === undefined) continue;
    const part = parts.get(place.segment_id) ?? { segment: place, rows: [] };
    for (const row of own.rows) {
      const at = row - own.before;
      if (at >= 0 && at < place.count) part.rows.push(place.first_row + at);
    }
    own.before += place.count;
    if (part.rows.length > 0) parts.set(place.segment_id, part);
  }
  return [...parts.values()].map(({ segment, rows }) => ({
    segment,
    rows: rows.sort((a, b) => a - b),
  }));
}

function toFacts(count: number, tallies: readonly LabelTally[]): Facts {
  const sampled = tallies.reduce((sum, tally) => sum + tally.count, 0);
  return {
    count,
    sampled,
    is_exact: sampled === count,
    kinds: topValues(tallies, 'kind'),
    sources: topValues(tallies, 'source'),
    models: topValues(tallies, 'model'),
  };
}

const shownValues = 20;

/** Returns the most frequent values of a label, then null for the records without one. */
export function topValues(
  tallies: readonly LabelTally[],
  label: 'kind' | 'source' | 'model',
): Facts['kinds'] {
  const counts = new Map<string | null, number>();
  for (const tally of tallies) {
    counts.set(tally[label], (counts.get(tally[label]) ?? 0) + tally.count);
  }
  const without = counts.get(null);
  const values = [...counts]
    .flatMap(([value, count]) => (value === null ? [] : [{ value, count }]))
    .sort((a, b) => b.count - a.count || compareText(a.value, b.value))
    .slice(0, shownValues);
  return without === undefined ? values : [...values, { value: null, count: without }];
}

// What follows is DuckDB's SQL for the labels of cold records. Each row is one JSON text, like `recordJson` for pages.

/** Counts the labels of all records of a slice in whole segments. */
export function tallySliceSql(paths: readonly string[], slice: Slice): string {
  const conditions = coldConditions(slice);
  return tallyOf(
    `select kind, source, model from ${readSegments(paths)}
    where ${['true', ...conditions].join(' and ')}`,
  );
}

/** Some rows of a local file, in ascending order. */
export type FileRows = { readonly path: string; readonly rows: readonly number[] };

/** Counts the labels of some rows of segments. */
export function tallyRowsSql(files: readonly FileRows[]): string {
  const each = files.map(
    // DuckDB chooses the row groups by the span, and finds the rows in it in a hash table.
    ({ path, rows }) => `select kind, source, model from ${readSegments([path])}
      where file_row_number between ${rows[0] ?? 0} and ${rows.at(-1) ?? -1}
        and file_row_number in (select unnest([${rows.join(', ')}]::bigint[]))`,
  );
  return tallyOf(each.join(' union all '));
}

function tallyOf(records: string): string {
  return `select to_json({kind: kind, source: source, model: model, count: count(*)})::varchar as tally
    from (${records}) group by kind, source, model`;
}
