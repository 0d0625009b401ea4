import type { Actor } from '../../kernel/actor.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import { sumLeafDays } from '../queries.ts';
import { maxSegments, queryInGroups, readTwice, withRows } from '../read/open-segments.ts';
import type { DayInSegment, Segment } from '../read/queries.ts';
import { listSliceSegments } from '../read/sum-segments.ts';
import { type ColdReader, dayKey } from '../segments/segment.ts';
import { readSegments, vectorRows } from '../segments/segment-sql.ts';
import { coldConditions } from '../slice/cold-sql.ts';
import {
  isOutOfReach,
  type Slice,
  type TenantSlice,
  type TenantSliceRequest,
  toSlice,
} from '../slice/slice.ts';
import { withTags } from '../tags/windows.ts';
import { coldWhereSql } from '../where/cold-sql.ts';
import { parseWhere } from '../where/parse.ts';
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
  /** The number of records of the slice, from counters, whatever its `where` says. */
  readonly count: number;
  /** Those that were looked at. `place` numbers the places of the slice in which they were looked for. */
  readonly records: readonly (SampledRecord & { readonly place: number })[];
  /** The share of the slice that stands in the days of which something was looked at. */
  readonly reach: number;
};

type Tiers = { readonly db: Database; readonly cold: ColdReader };

export type SampleOptions = {
  readonly size: SampleSize;
  /** About how many bytes of enrichments are read: fewer records are looked at where these are large. 0 reads none. */
  readonly textBytes: number;
};

/** At least so many records are looked at, however large they are. */
const fewestRecords = 100;

/** Reads a sample of a slice, always the same. Throws 400 `request_invalid`, 500 `segment_damaged`. */
export async function readSample(
  tiers: Tiers,
  actor: Actor,
  request: TenantSliceRequest,
  options: SampleOptions,
): Promise<Sample> {
  const { tenant } = request;
  const slice = toSlice(request, actor, '?');
  if (isOutOfReach(slice, actor)) return { count: 0, records: [], reach: 1 };
  return readSliceSample(tiers, { ...slice, tenant }, options);
}

/** Does the same for a slice that was checked. Only its tenant, store, days, tags and `where` count. Throws 500 `segment_damaged`. */
export async function readSliceSample(
  tiers: Tiers,
  { where, ...slice }: TenantSlice,
  options: SampleOptions,
): Promise<Sample> {
  const { tenant } = slice;
  return readTwice(async () => {
    // All of this reads one snapshot: a record that moves between two statements would otherwise be looked at twice or
    // not at all.
    const look = await tiers.db.transaction(
      async (connection) => {
        const tagged = { ...(await withTags(connection, slice)), tenant };
        const { textBytes } = options;
        // What a `where` reads of the records is bounded, too, where no texts are wanted.
        const readBytes = where === undefined ? textBytes : Math.max(textBytes, whereBytes);
        const size =
          readBytes === 0
            ? options.size
            : await fitSize(connection, tagged, { size: options.size, textBytes: readBytes });
        const phase = phaseOf(tenant);
        const stores = await queries.pickStores(connection, tagged, { size, phase });
        const isSmall = (stores[0]?.total ?? 0) <= size.records;
        const read = { tenant, where, textBytes };
        if (isSmall) return lookAtAll(connection, tagged, read);
        return lookAtSample(connection, tagged, { stores, size, phase, read });
      },
      { isolation: 'repeatable read' },
    );
    const places = new Map(look.takes.map((take) => [dayKey(take), take.place]));
    const reached = look.takes.reduce((sum, take) => sum + take.hotCount + take.coldCount, 0);
    const cold = (await look.readCold(tiers)).map(toRecord);
    const records = [...look.hot, ...cold];
    return {
      count: look.count,
      records: records.map((one) => ({ ...one, place: places.get(dayKey(one)) ?? 0 })),
      reach: look.count === 0 ? 1 : reached / look.count,
    };
  });
}

const whereBytes = 16 * 2 ** 20;

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

/** What the snapshot told. The rest must be read from segments. */
type Look = {
  /** The number of records of the slice. */
  count: number;
  takes: readonly Take[];
  hot: SampledRecord[];
  readCold: (tiers: Tiers) => Promise<ColdRow[]>;
};

async function lookAtAll(
  db: Queryable,
  slice: TenantSlice,
  read: queries.ReadOptions,
): Promise<Look> {
  const days = await queries.listStoreDays(db, slice, null);
  const takes = takeAll(days);
  const isCold = takes.some(({ cold }) => cold > 0);
  const segments = isCold ? await listSliceSegments(db, slice) : [];
  const own = { ...read, textBytes: roomFor(1, read.textBytes) };
  return {
    count: days.reduce((sum, { count }) => sum + count, 0),
    takes,
    hot: await queries.listHotRecords(db, own, toWholeStretches(takes)),
    // A few records may stand in very many places, so whole segments are searched for them instead.
    readCold: ({ cold }) => queryInGroups(cold, segments, (paths) => sliceSql(paths, slice, own)),
  };
}

async function lookAtSample(
  db: Queryable,
  { tenant, ...slice }: TenantSlice,
  sample: {
    stores: readonly PickedStore[];
    phase: number;
    size: SampleSize;
    read: queries.ReadOptions;
  },
): Promise<Look> {
  const { stores, size, read } = sample;
  const names = stores.map(({ store }) => store);
  const days = await queries.listStoreDays(db, { ...slice, tenant }, names);
  const takes = pickDays(stores, days, sample);
  const whole = toWholeStretches(takes);
  const sampled = toSampledStretches(takes, size.keysEach);
  const cold = takes.filter((take) => take.cold > 0);
  const places = cold.length === 0 ? [] : await queries.listPlaces(db, tenant, cold);
  const wanted = takes.reduce((sum, take) => sum + take.hot + take.cold, 0);
  const room = (rows: number) => roomFor(rows / Math.max(1, wanted), read.textBytes);
  const own = (isWhole: boolean) => {
    const rows = takes.map(({ hot, hotCount }) => ((hot === hotCount) === isWhole ? hot : 0));
    return { ...read, textBytes: room(rows.reduce((sum, hot) => sum + hot, 0)) };
  };
  return {
    count: stores[0]?.total ?? 0,
    takes,
    hot: [
      ...(whole.length === 0 ? [] : await queries.listHotRecords(db, own(true), whole)),
      ...(sampled.length === 0 ? [] : await queries.listHotSample(db, own(false), sampled)),
    ],
    readCold: (tiers) =>
      readRows(tiers, toParts(cold, places), (rows) => ({ ...read, textBytes: room(rows) })),
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

/** Rows of a segment that stand close together. */
type Part = { readonly segment: Segment; readonly rows: number[] };

/** Rows further apart than this are looked up by themselves, so that no row group between them is fetched. */
const widestGap = vectorRows;

/** Returns the cold rows that are to be looked at, by segment: spread evenly over all those of each day. */
function toParts(takes: readonly Take[], places: readonly DayInSegment[]): Part[] {
  const wanted = new Map(
    takes.map((take) => [
      dayKey(take),
      { rows: spread(take.coldCount, take.cold, phaseOf(take.store, take.day)), before: 0 },
    ]),
  );
  const segments = new Map<string, Part>();
  for (const place of places) {
    const own = wanted.get(dayKey(place));
    if (own === undefined) continue;
    const part = segments.get(place.segment_id) ?? { segment: place, rows: [] };
    for (const row of own.rows) {
      const at = row - own.before;
      if (at >= 0 && at < place.count) part.rows.push(place.first_row + at);
    }
    own.before += place.count;
    segments.set(place.segment_id, part);
  }
  return [...segments.values()].flatMap(splitRows);
}

function splitRows({ segment, rows }: Part): Part[] {
  const parts: Part[] = [];
  let last = Number.NEGATIVE_INFINITY;
  for (const row of rows.sort((a, b) => a - b)) {
    if (row - last > widestGap) parts.push({ segment, rows: [] });
    parts.at(-1)?.rows.push(row);
    last = row;
  }
  return parts;
}

/** Reads rows of some segments, a few of these at a time. `readOf` tells how so many rows are read. */
async function readRows(
  { db, cold }: Tiers,
  parts: readonly Part[],
  readOf: (rows: number) => ShownOptions,
): Promise<ColdRow[]> {
  const found: ColdRow[] = [];
  for (let at = 0; at < parts.length; at += maxSegments) {
    const group = parts.slice(at, at + maxSegments);
    const wanted = group.map(({ segment, rows }) => {
      const range = [rows[0] ?? 0, rows.at(-1) ?? 0] as const;
      return { segment, ranges: [range] };
    });
    const options = readOf(group.reduce((sum, { rows }) => sum + rows.length, 0));
    const read = (files: readonly { path: string }[]) =>
      cold.duckdb.run<ColdRow>(
        rowsSql(
          files.map(({ path }, n) => ({ path, rows: group[n]?.rows ?? [] })),
          options,
        ),
      );
    found.push(...(await withRows({ db, cold }, wanted, read)));
  }
  return found;
}

function toRecord({ labels, enrichment }: ColdRow): SampledRecord {
  return { ...(JSON.parse(labels) as Omit<SampledRecord, 'enrichment'>), enrichment };
}

// What follows is DuckDB's SQL for the cold records of a sample.

/** The labels are one JSON text, because a text that DuckDB returns by itself would lose a byte order mark at its start. */
type ColdRow = { labels: string; enrichment: string | null };

/** Selects all records of a slice in whole segments. */
function sliceSql(paths: readonly string[], slice: Slice, read: ShownOptions): string {
  const conditions = coldConditions(slice);
  return `select ${shown(read)} from ${readSegments(paths)}
    where ${['true', ...conditions].join(' and ')}`;
}

/** Some rows of a local file, in ascending order. */
type FileRows = { readonly path: string; readonly rows: readonly number[] };

/** Selects some rows of segments. */
export function rowsSql(files: readonly FileRows[], read: ShownOptions): string {
  const each = files.map(
    // DuckDB chooses the row groups by the span, and finds the rows in it in a hash table.
    ({ path, rows }) => `select * from ${readSegments([path])}
      where file_row_number between ${rows[0] ?? 0} and ${rows.at(-1) ?? -1}
        and file_row_number in (select unnest([${rows.join(', ')}]::bigint[]))`,
  );
  return `select ${shown(read)} from (${each.join(' union all ')})`;
}

type ShownOptions = Pick<queries.ReadOptions, 'textBytes' | 'where'>;

function shown({ textBytes, where }: ShownOptions): string {
  const fits = where === undefined ? 'true' : coldWhereSql(parseWhere(where));
  const bytes = `case when ${fits} then bytes else 0 end`;
  const text =
    textBytes === 0
      ? 'null'
      : `case when ${fits} and sum(${bytes}) over (rows unbounded preceding) <= ${textBytes}
        then enrichment::varchar end`;
  return `to_json({store: store, day: strftime(make_timestamp(epoch_us(occurred_at)), '%Y-%m-%d'),
    kind: kind, source: source, model: model,
    confidence: confidence, fits: ${fits}})::varchar as labels, ${text} as enrichment`;
}
