import { addDays } from '../../kernel/day.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { keyOf, type RecordKey, type RecordRow } from '../queries.ts';
import type { Tier } from '../read/tier.ts';
import type { DayToRead, Place, StoredDay, TailSlice } from './queries.ts';
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
 * Returns the next records of a slice by the order of their commits, and within a part by store, time and event. Kind,
 * source and event are left to the caller: so those who read at the same place share a page. Records that were moved
 * meanwhile come from the segments, and those that were erased do not come.
 */
export async function readStored(
  { db, records }: StoredSource,
  slice: TailSlice,
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
      return {
        days,
        ...(await queries.listStoredRecords(connection, slice.tenant, { days, limit })),
      };
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
      const both = await readBothTiers(records, slice.tenant, day);
      add(day, both.rows);
      return { rows, end: both.end ?? [day.stored_at, day.store, day.day], isUpToDate: false };
    }
    add(day, hot);
    end = isWhole ? [day.stored_at, day.store, day.day] : (rows.at(-1)?.place ?? end);
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

/** A page of a day that may lie in both tiers looks into them so often at most. */
const mostScans = 20;

/** Reads on in a day of a part from both tiers. `end` is null when that was all of it. */
async function readBothTiers(
  records: Tier,
  tenant: string,
  day: DayToRead,
): Promise<{ rows: RecordRow[]; end: Place | null }> {
  const { store, stored_at: storedAt } = day;
  const slice = { tenant, store, from: day.day, until: addDays(day.day, 1), tenants: null };
  const rows: RecordRow[] = [];
  let after: RecordKey = [tenant, store, ...(day.after ?? ([day.first_at, ''] as const))];
  for (let scans = 0; scans < mostScans; scans += 1) {
    const scan = await records.scan(slice, {
      ...{ after, isInclusive: scans === 0 && day.after === null, descending: false },
      limit: most.records,
    });
    for (const row of scan.rows) {
      if (row.occurred_at > day.last_at) return { rows, end: null };
      if (row.recorded_at !== day.recorded_at) continue;
      rows.push(row);
      if (rows.length === most.records) return { rows, end: placeOf(storedAt, keyOf(row)) };
    }
    if (scan.end === null) return { rows, end: null };
    after = scan.end;
  }
  return { rows, end: placeOf(storedAt, after) };
}

function placeOf(storedAt: string, [, store, occurredAt, eventId]: RecordKey): Place {
  return [storedAt, store, occurredAt, eventId];
}
