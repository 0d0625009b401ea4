import type { Actor } from '../../kernel/actor.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import { sumLeafDays } from '../queries.ts';
import { queryInGroups, readTwice } from '../read/open-segments.ts';
import type { DayInSegment, Segment } from '../read/queries.ts';
import { listSliceSegments } from '../read/sum-segments.ts';
import { type ColdReader, dayKey } from '../segments/segment.ts';
import { readSegments } from '../segments/segment-sql.ts';
import { coldConditions } from '../slice/cold-sql.ts';
import { isOutOfReach, type Slice, type SliceRequest, toSlice } from '../slice/slice.ts';
import { withTags } from '../tags/windows.ts';
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
import type { SampledRecord } from './queries.ts';
import * as queries from './queries.ts';

/** What stands for a slice: all of its records, or some that have its stores, days and hours by their numbers. */
export type Sample = {
  /** The number of records of the slice, from counters. */
  readonly count: number;
  /** Those that were looked at. `place` numbers the places of the slice in which they were looked for. */
  readonly records: readonly (SampledRecord & { readonly place: number })[];
  /** The share of the slice that stands in the days of which something was looked at. */
  readonly reach: number;
};

export type SampleOptions = {
  readonly size: SampleSize;
  /** About how many bytes of enrichments are read: fewer records are looked at where these are large. 0 reads none. */
  readonly textBytes: number;
};

/** At least so many records are looked at, however large they are. */
const fewestRecords = 100;

/** Reads a sample of a slice, always the same one. Throws 400 `request_invalid` or 500 `segment_damaged`. */
export async function readSample(
  { db, cold }: { db: Database; cold: ColdReader },
  actor: Actor,
  request: SliceRequest & { tenant: string },
  options: SampleOptions,
): Promise<Sample> {
  const { tenant } = request;
  const slice = toSlice(request, actor, '?');
  if (isOutOfReach(slice, actor)) return { count: 0, records: [], reach: 1 };
  return readTwice(async () => {
    // All of this reads one snapshot: a record that moves between two statements would otherwise be looked at twice or
    // not at all.
    const look = await db.transaction(
      async (connection) => {
        const tagged = { ...(await withTags(connection, slice)), tenant };
        const { textBytes } = options;
        const size = textBytes === 0 ? options.size : await fitSize(connection, tagged, options);
        const phase = phaseOf(tenant);
        const stores = await queries.pickStores(connection, tagged, { size, phase });
        const isSmall = (stores[0]?.total ?? 0) <= size.records;
        if (isSmall) return lookAtAll(connection, tagged, textBytes);
        return lookAtSample(connection, tagged, { stores, size, phase, textBytes });
      },
      { isolation: 'repeatable read' },
    );
    const places = new Map(look.takes.map((take) => [dayKey(take), take.place]));
    const reached = look.takes.reduce((sum, take) => sum + take.hotCount + take.coldCount, 0);
    const records = [...look.hot, ...(await readCold(cold, look))];
    return {
      count: look.count,
      records: records.map((one) => ({ ...one, place: places.get(dayKey(one)) ?? 0 })),
      reach: look.count === 0 ? 1 : reached / look.count,
    };
  });
}

/** Returns a sample of fewer records, if as many as are wanted had more bytes than are to be read. */
async function fitSize(
  db: Queryable,
  slice: Slice,
  { size, textBytes }: SampleOptions,
): Promise<SampleSize> {
  const { count, bytes } = await sumLeafDays(db, slice);
  const fitting = Math.floor((textBytes * count) / Math.max(1, bytes));
  return { ...size, records: Math.min(size.records, Math.max(fewestRecords, fitting)) };
}

type TenantSlice = Slice & { readonly tenant: string };

/** What the snapshot told. The rest must be read from segments. */
type Look = {
  /** The number of records of the slice. */
  count: number;
  takes: readonly Take[];
  hot: SampledRecord[];
  parts: Part[];
  sqlOf: (paths: readonly string[], group: readonly Part[]) => string;
};

/** The numbers of the rows that are looked at; none where whole segments are searched. */
type Part = { readonly segment: Segment; readonly rows: number[] };

async function lookAtAll(db: Queryable, slice: TenantSlice, textBytes: number): Promise<Look> {
  const days = await queries.listStoreDays(db, slice, null);
  const takes = takeAll(days);
  const isCold = takes.some(({ cold }) => cold > 0);
  const segments = isCold ? await listSliceSegments(db, slice) : [];
  const room = roomFor(1, textBytes);
  const { tenant } = slice;
  return {
    count: days.reduce((sum, { count }) => sum + count, 0),
    takes,
    hot: await queries.listHotRecords(db, { tenant, textBytes: room }, toWholeStretches(takes)),
    parts: segments.map((segment) => ({ segment, rows: [] })),
    // A few records may stand in very many places, so whole segments are searched for them instead.
    sqlOf: (paths) => sliceSql(paths, slice, room),
  };
}

async function lookAtSample(
  db: Queryable,
  { tenant, ...slice }: TenantSlice,
  sample: { stores: readonly PickedStore[]; phase: number } & SampleOptions,
): Promise<Look> {
  const { stores, size, textBytes } = sample;
  const names = stores.map(({ store }) => store);
  const days = await queries.listStoreDays(db, { ...slice, tenant }, names);
  const takes = pickDays(stores, days, sample);
  const whole = toWholeStretches(takes);
  const sampled = toSampledStretches(takes, size.keysEach);
  const cold = takes.filter((take) => take.cold > 0);
  const places = cold.length === 0 ? [] : await queries.listPlaces(db, tenant, cold);
  const wanted = takes.reduce((sum, take) => sum + take.hot + take.cold, 0);
  const room = (rows: number) => roomFor(rows / Math.max(1, wanted), textBytes);
  const own = (isWhole: boolean) => {
    const rows = takes.map(({ hot, hotCount }) => ((hot === hotCount) === isWhole ? hot : 0));
    return { tenant, textBytes: room(rows.reduce((sum, hot) => sum + hot, 0)) };
  };
  return {
    count: stores[0]?.total ?? 0,
    takes,
    hot: [
      ...(whole.length === 0 ? [] : await queries.listHotRecords(db, own(true), whole)),
      ...(sampled.length === 0 ? [] : await queries.listHotSample(db, own(false), sampled)),
    ],
    parts: toParts(cold, places),
    sqlOf: (paths, group) =>
      rowsSql(
        group.map(({ rows }, n) => ({ path: paths[n] ?? '', rows })),
        room(group.reduce((sum, { rows }) => sum + rows.length, 0)),
      ),
  };
}

/** Beyond its share of the text, each statement may read so much. */
const spareBytes = 2 ** 20;

/**
 * How many bytes of enrichments one statement may return, which reads this share of the sample. It is twice what is
 * expected: of days with far larger records than others the last enrichments are left out, so that memory stays bounded.
 */
function roomFor(share: number, textBytes: number): number {
  return textBytes === 0 ? 0 : Math.ceil(spareBytes + 2 * textBytes * share);
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

async function readCold(cold: ColdReader, { parts, sqlOf }: Look): Promise<SampledRecord[]> {
  const rows = await queryInGroups<ColdRow, Part>(cold, parts, sqlOf);
  return rows.map(({ labels, enrichment }) => ({
    ...(JSON.parse(labels) as Omit<SampledRecord, 'enrichment'>),
    enrichment,
  }));
}

// What follows is DuckDB's SQL for the cold records of a sample.

/** The labels are one JSON text, because a text that DuckDB returns by itself would lose a byte order mark at its start. */
type ColdRow = { labels: string; enrichment: string | null };

/** Selects all records of a slice in whole segments. */
export function sliceSql(paths: readonly string[], slice: Slice, textBytes: number): string {
  const conditions = coldConditions(slice);
  return `select ${shown(textBytes)} from ${readSegments(paths)}
    where ${['true', ...conditions].join(' and ')}`;
}

/** Some rows of a local file, in ascending order. */
export type FileRows = { readonly path: string; readonly rows: readonly number[] };

/** Selects some rows of segments. */
export function rowsSql(files: readonly FileRows[], textBytes: number): string {
  const each = files.map(
    // DuckDB chooses the row groups by the span, and finds the rows in it in a hash table.
    ({ path, rows }) => `select * from ${readSegments([path])}
      where file_row_number between ${rows[0] ?? 0} and ${rows.at(-1) ?? -1}
        and file_row_number in (select unnest([${rows.join(', ')}]::bigint[]))`,
  );
  return `select ${shown(textBytes)} from (${each.join(' union all ')})`;
}

function shown(textBytes: number): string {
  const text =
    textBytes === 0
      ? 'null'
      : `case when sum(bytes) over (rows unbounded preceding) <= ${textBytes} then enrichment::varchar end`;
  return `to_json({store: store, day: strftime(make_timestamp(epoch_us(occurred_at)), '%Y-%m-%d'),
    kind: kind, source: source, model: model,
    confidence: try_cast(confidence as double)})::varchar as labels, ${text} as enrichment`;
}
