import type { Actor } from '../../kernel/actor.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import { readTwice, withSegments } from '../read/open-segments.ts';
import { coalesce, type RowRange } from '../read/plan-scan.ts';
import type { DayInSegment, Segment } from '../read/queries.ts';
import { groupSegments, listSliceSegments } from '../read/sum-segments.ts';
import { type ColdReader, dayKey } from '../segments/segment.ts';
import { isOutOfReach, type Slice, type SliceRequest, toSlice } from '../slice/slice.ts';
import { withTags } from '../tags/read-windows.ts';
import type { Facts } from '../tags.contract.ts';
import { type PickedStore, pickDays, type Take, takeAll, toHotStretches } from './pick-days.ts';
import * as queries from './queries.ts';
import { type LabelTally, tallyRowsSql, tallySliceSql, topValues } from './tally.ts';

/**
 * A slice with at most this many records is looked at whole. Of a larger one, up to `recordsEach` records are looked at
 * in each place of a sample.
 */
const mostRecords = 10_000;
const sample = { places: 20, maxPlaces: 200, records: mostRecords, recordsEach: 500 };

/** Returns the kinds, sources and models of a slice. Throws 400 `request_invalid` or 500 `segment_damaged`. */
export async function readFacts(
  { db, cold }: { db: Database; cold: ColdReader },
  actor: Actor,
  request: SliceRequest & { tenant: string },
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
        const stores = await queries.pickStores(connection, tagged, sample);
        const isSmall = (stores[0]?.total ?? 0) <= mostRecords;
        return isSmall ? lookAtAll(connection, tagged) : lookAtSample(connection, tagged, stores);
      },
      { isolation: 'repeatable read' },
    );
    return toFacts(count, [...hot, ...(await tallyCold(cold, parts, sqlOf))]);
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

type Part = { readonly segment: Segment; readonly ranges: RowRange[] };

async function lookAtAll(db: Queryable, slice: TenantSlice): Promise<Look> {
  const days = await queries.listStoreDays(db, slice, null);
  const takes = takeAll(days);
  const isCold = takes.some(({ cold }) => cold > 0);
  const segments = isCold ? await listSliceSegments(db, slice) : [];
  return {
    count: days.reduce((sum, { count }) => sum + count, 0),
    hot: await tallyHot(db, slice, takes),
    parts: segments.map((segment) => ({ segment, ranges: [] })),
    // A few records may stand in very many places, so whole segments are searched for them instead.
    sqlOf: (paths) => tallySliceSql(paths, slice),
  };
}

async function lookAtSample(
  db: Queryable,
  slice: TenantSlice,
  stores: readonly PickedStore[],
): Promise<Look> {
  const names = stores.map(({ store }) => store);
  const days = await queries.listStoreDays(db, slice, names);
  const recordsEach = Math.floor(mostRecords / (stores[0]?.places ?? 1));
  const takes = pickDays(stores, days, Math.min(sample.recordsEach, recordsEach));
  const cold = takes.filter((take) => take.cold > 0);
  const places = cold.length === 0 ? [] : await queries.listPlaces(db, slice.tenant, cold);
  return {
    count: stores[0]?.total ?? 0,
    hot: await tallyHot(db, slice, takes),
    parts: toParts(cold, places),
    sqlOf: (paths, group) =>
      tallyRowsSql(
        group.map(({ ranges }, n) => ({ path: paths[n] ?? '', ranges })),
        slice,
      ),
  };
}

function tallyHot(db: Queryable, slice: Slice, takes: readonly Take[]): Promise<LabelTally[]> {
  const stretches = toHotStretches(takes);
  if (stretches.length === 0) return Promise.resolve([]);
  return queries.tallyHotRecords(db, slice, stretches);
}

async function tallyCold(
  cold: ColdReader,
  parts: readonly Part[],
  sqlOf: Look['sqlOf'],
): Promise<LabelTally[]> {
  const tallies: LabelTally[] = [];
  for (const group of groupSegments(parts)) {
    const segments = group.map(({ segment }) => segment);
    const rows = await withSegments(cold, segments, (paths) =>
      cold.duckdb.run<{ tally: string }>(sqlOf(paths, group)),
    );
    tallies.push(...rows.map(({ tally }) => JSON.parse(tally) as LabelTally));
  }
  return tallies;
}

/** Returns the first cold rows of each day, by segment: as many as are to be taken of the day. */
function toParts(takes: readonly Take[], places: readonly DayInSegment[]): Part[] {
  const left = new Map(takes.map((take) => [dayKey(take), take.cold]));
  const parts = new Map<string, Part>();
  for (const place of places) {
    const wanted = Math.min(left.get(dayKey(place)) ?? 0, place.count);
    if (wanted === 0) continue;
    left.set(dayKey(place), (left.get(dayKey(place)) ?? 0) - wanted);
    const part = parts.get(place.segment_id) ?? { segment: place, ranges: [] };
    part.ranges.push([place.first_row, place.first_row + wanted - 1]);
    parts.set(place.segment_id, part);
  }
  // Days beside each other stand beside each other in the segment, and tens of ranges are found faster than hundreds.
  return [...parts.values()].map(({ segment, ranges }) => ({ segment, ranges: coalesce(ranges) }));
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
