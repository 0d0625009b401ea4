import type { Actor } from '../kernel/actor.ts';
import { type AppError, invalidInput } from '../kernel/errors.ts';
import type { Queryable } from '../platform/postgres/database.ts';
import {
  joinWheres,
  parseWhere,
  readVersionSlice,
  type Slice,
  toSlice,
  type VersionSlice,
} from '../records/index.ts';
import type { ExportRequest } from './contract.ts';

/** The fields of an export's body or query that select records. */
export type SelectionRequest = Pick<
  ExportRequest,
  'tenant' | 'store' | 'month' | 'from' | 'to' | 'kind' | 'where' | 'dataset' | 'version' | 'split'
>;

/** The records of an export. */
export type Selection = {
  /** It has the tags of a version. A dataset's are added by whoever reads it: `withTags`, `pinSlice`. */
  readonly slice: Slice & { readonly tenant: string };
  /** The dataset version; null when the request names none. */
  readonly version: Omit<VersionSlice, 'slice'> | null;
};

const excludedByVersion = ['store', 'month', 'from', 'to', 'kind', 'dataset'] as const;

/**
 * Finds out which records a request means; `place` begins the paths in errors. Only a job reads all records before the
 * first byte, as a `where` and groups need. Throws 400 `request_invalid`, 404 `version_not_found`.
 */
export async function toSelection(
  db: Queryable,
  request: SelectionRequest,
  actor: Actor,
  { place, isJob = false }: { place: '?' | '/'; isJob?: boolean },
): Promise<Selection> {
  const { tenant, version: id, split, where } = request;
  if (where !== undefined && !isJob) throw needsJob(`${place}where`);
  if (id === undefined) {
    if (split !== undefined) throw invalidInput(`${place}split`, 'goes with a version');
    return { slice: { ...toSlice(request, actor, place), tenant }, version: null };
  }
  const excluded = excludedByVersion.find((name) => request[name] !== undefined);
  if (excluded !== undefined) {
    throw invalidInput(`${place}${excluded}`, 'goes without a version, which has its own records');
  }
  if (where !== undefined) parseWhere(where, `${place}where`);
  const { slice, ...version } = await readVersionSlice(db, { tenant, id, tenants: actor.tenants });
  if (split !== undefined && version.shares === null) {
    throw invalidInput(`${place}split`, `the version ${version.name} was frozen without shares`);
  }
  if (!isJob && slice.where !== undefined) throw needsJob(`${place}version`, 'a where');
  if (!isJob && slice.groupBy !== undefined && split !== undefined) {
    throw needsJob(`${place}split`, 'groups');
  }
  return { slice: { ...slice, split, where: joinWheres(slice.where, where) }, version };
}

function needsJob(path: string, frozenWith?: string): AppError {
  const why = frozenWith === undefined ? '' : `the version was frozen with ${frozenWith}: it `;
  return invalidInput(path, `${why}goes with the header Prefer: respond-async, as a job`);
}
