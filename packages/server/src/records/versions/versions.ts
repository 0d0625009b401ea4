import type { Static } from 'typebox';
import { type Actor, assertReach, mayTouchTenant } from '../../kernel/actor.ts';
import { dayAfter } from '../../kernel/day.ts';
import { AppError, invalidInput } from '../../kernel/errors.ts';
import { newId } from '../../kernel/ids.ts';
import { emptyPage, type Page, toKeyset, toPage } from '../../kernel/page.ts';
import { type Act, type Audit, noteAct } from '../../platform/audit.ts';
import type { HttpServer } from '../../platform/http/server.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import type { ColdReader } from '../segments/segment.ts';
import { beyondLastDay, type DayWindow, firstDay, type KeyRange } from '../slice/slice.ts';
import { type NewVersion, type Version, versionsContract } from '../versions.contract.ts';
import { parseGroup, parseWhere } from '../where/parse.ts';
import { diffVersions } from './diff.ts';
import { cutParts } from './pin-queries.ts';
import { pinSlice, withPin } from './pin-slice.ts';
import * as queries from './queries.ts';
import { isVersionId, toVersion, versionNotFound } from './version.ts';

type VersionOptions = {
  readonly cursorKey: () => Buffer;
  readonly audit: Audit;
  readonly cold: ColdReader;
  /** Tells this process that there is a version to count. Without the role that counts it does nothing. */
  readonly pokeCounting: () => void;
};

export function addVersionRoutes(
  http: HttpServer,
  db: Database,
  { cursorKey, audit, cold, pokeCounting }: VersionOptions,
): void {
  http.route(versionsContract.createVersion, async ({ body, actor, request }) => {
    const version = await createVersion(db, { actor, request, audit }, body);
    pokeCounting();
    return version;
  });
  http.route(versionsContract.listVersions, ({ query, actor }) =>
    listVersions(db, cursorKey(), actor, query),
  );
  http.route(versionsContract.diffVersions, ({ params, query, actor }) =>
    diffVersions({ db, cold, cursorKey: cursorKey() }, actor, { ...params, ...query }),
  );
  http.route(versionsContract.getVersion, ({ params, actor }) => getVersion(db, actor, params.id));
  http.route(versionsContract.deleteVersion, ({ params, actor, request }) =>
    deleteVersion(db, { actor, request, audit }, params.id),
  );
}

type VersionsRequest = Static<typeof versionsContract.listVersions.query>;

/** Returns one page of the versions that the caller reaches, the latest first. Throws 400 `cursor_invalid`. */
async function listVersions(
  db: Queryable,
  cursorKey: Buffer,
  actor: Actor,
  request: VersionsRequest,
): Promise<Page<Version>> {
  const { tenant, dataset, limit, cursor } = request;
  const scope = { list: 'dataset-versions', filters: { tenant, dataset } };
  const page = { cursorKey, scope, limit, cursor };
  const keyset = toKeyset(page);
  if (tenant !== undefined && !mayTouchTenant(actor, tenant)) return emptyPage();
  const filter = { tenant, dataset, tenants: actor.tenants };
  const rows = await queries.listVersions(db, filter, keyset);
  const { data, next_cursor } = toPage(page, rows, (row) => [row.created_at, row.id]);
  return { data: data.map(toVersion), next_cursor };
}

/** Returns one version. Throws 404 `version_not_found`. */
async function getVersion(db: Queryable, actor: Actor, id: string): Promise<Version> {
  const row = isVersionId(id) ? await queries.findVersion(db, id, actor) : undefined;
  if (row === undefined) throw versionNotFound();
  return toVersion(row);
}

/** Deletes a version and writes that to the audit log. Throws 404 `version_not_found`. */
async function deleteVersion(db: Database, act: Act, id: string): Promise<void> {
  await db.transaction(async (connection) => {
    const row = isVersionId(id)
      ? await queries.deleteVersion(connection, id, act.actor)
      : undefined;
    if (row === undefined) throw versionNotFound();
    const { tenant, name, dataset, count, bytes, digest } = toVersion(row);
    const before = { name, dataset, count, bytes, digest };
    await noteAct(connection, act, { action: 'version.delete', target: id, tenant, before });
  });
}

/**
 * Freezes what a dataset of a tenant has now. Throws 400 `request_invalid` for wrong shares, groups or `where`, and a
 * tenant out of reach, 409 `dataset_empty`, `version_name_taken`.
 */
export async function createVersion(db: Database, act: Act, wanted: NewVersion): Promise<Version> {
  const { tenant, name, shares, group_by, where } = wanted;
  if (shares !== undefined && shares.train + shares.validation + shares.test !== 100) {
    throw invalidInput('/shares', 'are percent and must be 100 together');
  }
  if (group_by !== undefined) {
    if (shares === undefined)
      throw invalidInput('/group_by', 'goes with shares, whose splits it is for');
    parseGroup(group_by);
  }
  if (where !== undefined) parseWhere(where, '/where');
  assertReach(act.actor, tenant);
  // A name that somebody else takes after this check is found out by the insert.
  if (await queries.hasName(db, tenant, name)) throw nameTaken(tenant, name);
  return withPin(db, tenant, {
    read: (snapshot, recordedBefore) => freeze(snapshot, act.actor, { wanted, recordedBefore }),
    async write(connection, frozen) {
      const row = await queries.insertVersion(connection, frozen);
      if (row === undefined) throw nameTaken(tenant, name);
      const windows = clipWindows(frozen.tags[frozen.dataset], frozen.parts);
      await queries.insertWindows(connection, row, windows);
      const version = toVersion(row);
      const { dataset, note, count, bytes, digest, recorded_before } = version;
      const after = {
        name,
        dataset,
        shares: shares ?? null,
        group_by: group_by ?? null,
        where: where ?? null,
        note,
        count,
        bytes,
        digest,
        recorded_before,
      };
      const entry = { action: 'version.create', target: version.id, tenant, after };
      await noteAct(connection, act, entry);
      return version;
    },
  });
}

/** Reads tags, counters and parts from one snapshot, so that they fit together. */
async function freeze(
  snapshot: Queryable,
  actor: Actor,
  { wanted, recordedBefore }: { wanted: NewVersion; recordedBefore: string },
): Promise<queries.NewVersion> {
  const { tenant, dataset, name, shares, group_by, where, note } = wanted;
  const whole = { tenant, dataset, tenants: actor.tenants };
  const { slice, triple } = await pinSlice(snapshot, whole, recordedBefore);
  if (triple === null) throw new Error('the counters do not tell what a dataset holds');
  if (triple.count === 0) {
    throw new AppError('dataset_empty', {
      detail: `No record of ${tenant} is tagged as ${dataset}. Tag a slice first: POST /enrichment/tags.`,
    });
  }
  return {
    tenant,
    id: newId('ver'),
    dataset,
    name,
    note: note ?? null,
    shares: shares ?? null,
    groupBy: group_by ?? null,
    where: where ?? null,
    slices: await queries.listTags(snapshot, whole),
    tags: slice.tags,
    recordedBefore,
    triple: where === undefined ? triple : null,
    parts: await cutParts(snapshot, slice),
    createdBy: actor.name,
  };
}

/** Cuts windows to the days with records: one without end must not keep later records from deletion for ever. */
function clipWindows(
  windows: readonly DayWindow[],
  parts: readonly Pick<KeyRange, 'minDay' | 'maxDay'>[],
): DayWindow[] {
  const first = parts.map(({ minDay }) => minDay).sort()[0] ?? beyondLastDay;
  const last =
    parts
      .map(({ maxDay }) => maxDay)
      .sort()
      .at(-1) ?? firstDay;
  const beyond = dayAfter(last);
  return windows
    .map(({ store, from, until }) => ({
      store,
      from: from > first ? from : first,
      until: until < beyond ? until : beyond,
    }))
    .filter(({ from, until }) => from < until);
}

function nameTaken(tenant: string, name: string): AppError {
  return new AppError('version_name_taken', {
    detail: `${tenant} has a dataset version named ${JSON.stringify(name)}. Choose another name, or delete that version.`,
  });
}
