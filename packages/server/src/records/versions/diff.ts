import type { Static } from 'typebox';
import type { Actor } from '../../kernel/actor.ts';
import { decodeCursor, encodeCursor } from '../../kernel/cursor.ts';
import { AppError, invalidInput } from '../../kernel/errors.ts';
import { compareText } from '../../kernel/names.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { readBothTiers } from '../read/sum-segments.ts';
import type { ColdReader } from '../segments/segment.ts';
import { instantSql, readSegments } from '../segments/segment-sql.ts';
import { coldConditions } from '../slice/cold-sql.ts';
import { type Beside, compareSlices, isSplit, type KeyRange, type Slice } from '../slice/slice.ts';
import type { Difference, VersionDiff, versionsContract } from '../versions.contract.ts';
import * as queries from './queries.ts';
import { readVersionSlice, type VersionSlice } from './version.ts';

type Tools = { readonly db: Database; readonly cold: ColdReader; readonly cursorKey: Buffer };

type DiffRequest = { id: string } & Static<typeof versionsContract.diffVersions.query>;

const usualLimit = 20;

/**
 * Compares a stretch of two versions both ways. Whether the other has a record is a condition on this record alone, so
 * no keys are compared, and what the definitions rule out is not read. Throws 404 `version_not_found`, 400
 * `request_invalid` for other tenants, 409 `version_changed` when one lost records since the first page.
 */
export async function diffVersions(
  tools: Tools,
  actor: Actor,
  { id, to, limit = usualLimit, cursor }: DiffRequest,
): Promise<VersionDiff> {
  const { db, cursorKey } = tools;
  const find = (own: string) => readVersionSlice(db, { id: own, tenants: actor.tenants });
  const scope = { list: 'version-diff', filters: { id, to } };
  const [at = '0', known] = cursor === undefined ? [] : decodeCursor(cursorKey, scope, cursor).key;
  const [own, other] = [await find(id), await find(to)];
  if (own.slice.tenant !== other.slice.tenant) {
    throw invalidInput('?to', 'is a version of another tenant');
  }
  const changes = `${own.changedAt} ${other.changedAt}`;
  const assertUnchanged = (before: string | undefined, now: string) => {
    if (before === undefined || before === now) return;
    throw new AppError('version_changed', {
      detail: 'Records of one of the versions were erased or deleted meanwhile. Compare them anew.',
    });
  };
  assertUnchanged(known, changes);
  const number = Number(at);
  const plans = planDiff(own, other);
  const total = Math.max(0, ...Object.values(plans).map((plan) => plan?.parts.length ?? 0));
  const read = async (plan: Plan) => {
    const range = plan.parts[number];
    return range === undefined ? nothing : readDifference(tools, { ...plan.slice, range }, limit);
  };
  const page = {
    added: await read(plans.added),
    gone: await read(plans.gone),
    moved: plans.moved === null ? null : await read(plans.moved),
  };
  // What went between two reads of this page is in one of them.
  const [ownNow, otherNow] = [await find(id), await find(to)];
  assertUnchanged(changes, `${ownNow.changedAt} ${otherNow.changedAt}`);
  const done = Math.min(number + 1, total);
  const next = done < total ? ({ direction: 'next', key: [String(done), changes] } as const) : null;
  return {
    ...page,
    stretches_done: done,
    stretches_total: total,
    next_cursor: next && encodeCursor(cursorKey, scope, next),
  };
}

const nothing: Difference = { count: 0, records: [] };

/** The records that are read, and in which stretches; none where no record can be among them. */
type Plan = { readonly slice: Slice; readonly parts: readonly KeyRange[] };

/** Says what has to be read to tell how two versions differ. */
export function planDiff(
  own: VersionSlice,
  other: VersionSlice,
): { added: Plan; gone: Plan; moved: Plan | null } {
  const outside = (of: VersionSlice, beside: VersionSlice): Plan => {
    const unlike = compareSlices(of.slice, beside.slice);
    const isWithin = Object.keys(unlike).length === 0;
    return { slice: withBeside(of, { op: 'outside', unlike }), parts: isWithin ? [] : of.parts };
  };
  return { added: outside(other, own), gone: outside(own, other), moved: planMoved(own, other) };
}

function planMoved(own: VersionSlice, other: VersionSlice): Plan | null {
  if (!isSplit(own.slice) || !isSplit(other.slice)) return null;
  const rule = ({ shares, groupBy }: VersionSlice) => JSON.stringify([shares, groupBy]);
  const unlike = compareSlices(other.slice, own.slice);
  const { shares, groupBy } = own.slice;
  return {
    slice: withBeside(other, { op: 'moved', unlike, of: { shares, groupBy } }),
    parts: rule(own) === rule(other) ? [] : other.parts,
  };
}

function withBeside({ slice }: VersionSlice, beside: Beside): Slice {
  return { ...slice, beside };
}

type FoundRow = { count: string; records: string | null };

const coldMillis = 60_000;

/** Counts the records of a slice in both tiers, and names the first. Throws 500 `segment_damaged`. */
async function readDifference(
  { db, cold }: Tools,
  slice: Slice,
  limit: number,
): Promise<Difference> {
  const { hot, found } = await readBothTiers<Difference, FoundRow>({ db, cold }, slice, {
    async readHot(connection) {
      const count = await queries.countHotRecords(connection, slice);
      const records = count === 0 ? [] : await queries.listFirstRecords(connection, slice, limit);
      return { count, records };
    },
    coldSql: (paths) => differenceSql(paths, slice, limit),
    timeoutMillis: coldMillis,
  });
  const each = found.map(({ count, records }) => ({
    count: Number(count),
    records: JSON.parse(records ?? '[]') as Difference['records'],
  }));
  return joinDifferences([hot, ...each], limit);
}

/** Adds up the counts, and keeps the first records. */
export function joinDifferences(all: readonly Difference[], limit: number): Difference {
  const records = all.flatMap((each) => each.records).sort(compareKeys);
  return {
    count: all.reduce((sum, { count }) => sum + count, 0),
    records: records.slice(0, limit),
  };
}

function compareKeys(a: Difference['records'][number], b: Difference['records'][number]): number {
  return (
    compareText(a.store, b.store) ||
    compareText(a.occurred_at, b.occurred_at) ||
    compareText(a.event_id, b.event_id)
  );
}

function differenceSql(paths: readonly string[], slice: Slice, limit: number): string {
  return `
    select count(*)::varchar as count, to_json(min({store: store,
      occurred_at: ${instantSql('occurred_at')}, event_id: event_id}, ${limit}))::varchar as records
    from ${readSegments(paths)} where ${coldConditions(slice).join(' and ')}`;
}
