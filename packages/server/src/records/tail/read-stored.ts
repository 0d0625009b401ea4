import { addDays } from '../../kernel/day.ts';
import { formatMicros, parseInstant } from '../../kernel/instant.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { keyOf, type RecordKey, type RecordRow } from '../queries.ts';
import { compareKeys, type Tier } from '../read/tier.ts';
import type { TenantSlice } from '../slice/slice.ts';
import type { DayToRead, Place, StoredDay } from './queries.ts';
import * as queries from './queries.ts';

/** Some records in the order in which they were committed. */
export type StoredPage = {
  readonly rows: readonly { readonly record: RecordRow; readonly place: Place }[];
  /** How far the page has looked. */
  readonly end: Place;
  /** Whether that is all that is stored. */
  readonly isUpToDate: boolean;
};

/** What a tail is read from. */
export type StoredSource = { readonly db: Database; readonly records: Tier };

/** A page has so many records, and looks at so many days of parts, at most. */
const most = { records: 500, days: 200 };

/**
 * Returns the next records by the order of commits, and in a part by store, time and event, moved ones from segments.
 * Of a `where` those that fit; kind, source and event are the caller's, so that others share the page.
 */
export async function readStored(
  { db, records }: StoredSource,
  slice: TenantSlice,
  after: Place,
): Promise<StoredPage> {
  // Days, and whether they have cold records, are of the same moment as the hot records.
  const read = await db.transaction(
    async (connection) => {
      const listed = await queries.listStoredDays(connection, slice, { after, limit: most.days });
      if (listed.length === 0) {
        return { last: await queries.findLastStored(connection, slice.tenant) };
      }
      const days = pickDays(listed, after);
      const limit = most.records;
      return { days, ...(await queries.listStoredRecords(connection, slice, { days, limit })) };
    },
    { isolation: 'repeatable read' },
  );
  if (!('days' in read)) {
    const isLater = read.last !== undefined && read.last > after[0];
    return { rows: [], end: isLater ? [read.last ?? ''] : after, isUpToDate: true };
  }
  const rows: { record: RecordRow; place: Place }[] = [];
  const add = ({ stored_at: storedAt }: StoredDay, found: readonly RecordRow[]) => {
    for (const record of found) {
      rows.push({ record, place: [storedAt, record.store, record.occurred_at, record.event_id] });
    }
  };
  let end = after;
  const last = read.isCut ? (read.rows.at(-1)?.number ?? 0) : read.days.length - 1;
  for (const [number, day] of read.days.slice(0, last + 1).entries()) {
    const hot = read.rows.filter((row) => row.number === number);
    const isWhole = number < last || !read.isCut;
    if (day.has_cold && (!isWhole || hot.length < day.count)) {
      const run = runOf(read.days.slice(number));
      const both = await readBothTiers(records, slice, run);
      add(day, both.rows);
      return { rows, end: both.end, isUpToDate: false };
    }
    add(
      day,
      hot.filter(({ fits }) => fits),
    );
    const told = hot.at(-1);
    if (isWhole) end = [day.stored_at, day.store, day.day];
    else if (told !== undefined) end = placeOf(day.stored_at, keyOf(told));
  }
  return { rows, end, isUpToDate: false };
}

/** Takes days until they have as many records as a page. */
function pickDays(listed: readonly StoredDay[], after: Place): DayToRead[] {
  const days: DayToRead[] = [];
  let count = 0;
  for (const day of listed) {
    if (count >= most.records) break;
    const [storedAt, store, occurredAt, eventId] = after;
    const isBegun =
      occurredAt !== undefined &&
      eventId !== undefined &&
      storedAt === day.stored_at &&
      store === day.store &&
      occurredAt.startsWith(day.day);
    days.push({ ...day, after: isBegun ? [occurredAt, eventId] : null });
    count += day.count;
  }
  return days;
}

/** The days of the first part that may lie in both tiers, up to one that does not. They are in the order of the keys. */
function runOf([first, ...others]: readonly DayToRead[]): [DayToRead, ...DayToRead[]] {
  if (first === undefined) throw new Error('there is no day to read');
  const end = others.findIndex((day) => day.stored_at !== first.stored_at || !day.has_cold);
  return [first, ...others.slice(0, end < 0 ? others.length : end)];
}

/** A page of days that may lie in both tiers looks into them so often at most. */
const mostScans = 20;

/** Reads on in days of one part from both tiers, together: a scan of each store would open the segments again. */
async function readBothTiers(
  records: Tier,
  { tenant, where }: TenantSlice,
  run: readonly [DayToRead, ...DayToRead[]],
): Promise<{ rows: RecordRow[]; end: Place }> {
  const [first] = run;
  const last = run.at(-1) ?? first;
  const dates = run.map(({ day }) => day).sort();
  const own = new Set(run.map(({ store, day }) => `${store}/${day}`));
  const slice = {
    tenant,
    where,
    store: first.store === last.store ? first.store : undefined,
    from: dates[0],
    until: addDays(dates.at(-1) ?? first.day, 1),
    tenants: null,
    // The day has many parts, but this one alone was recorded at this microsecond.
    recordedFrom: first.recorded_at,
    recordedBefore: formatMicros((parseInstant(first.recorded_at) ?? 0) + 1),
  };
  const beyond: RecordKey = [tenant, last.store, last.last_at, '\u{10FFFF}'];
  const rows: RecordRow[] = [];
  let after: RecordKey = [tenant, first.store, ...(first.after ?? ([first.first_at, ''] as const))];
  let isDone = false;
  for (let scans = 0; !isDone && scans < mostScans; scans += 1) {
    const scan = await records.scan(slice, {
      after,
      isInclusive: scans === 0 && first.after === null,
      descending: false,
      limit: most.records,
    });
    for (const row of scan.rows) {
      if (compareKeys(keyOf(row), beyond) > 0) break;
      if (!own.has(`${row.store}/${row.occurred_at.slice(0, 10)}`)) continue;
      rows.push(row);
      if (rows.length === most.records) return { rows, end: placeOf(first.stored_at, keyOf(row)) };
    }
    isDone = scan.end === null || compareKeys(scan.end, beyond) >= 0;
    after = scan.end ?? after;
  }
  const end = isDone ? ([last.stored_at, last.store, last.day] as const) : null;
  return { rows, end: end ?? placeOf(first.stored_at, after) };
}

function placeOf(storedAt: string, [, store, occurredAt, eventId]: RecordKey): Place {
  return [storedAt, store, occurredAt, eventId];
}
