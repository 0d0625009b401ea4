import type { Actor } from '../kernel/actor.ts';
import { invalidInput } from '../kernel/errors.ts';
import type { Queryable } from '../platform/postgres/database.ts';
import { readVersionSlice, type Slice, toSlice, type VersionSlice } from '../records/index.ts';
import type { ExportRequest } from './contract.ts';

/** What of an export's body or query says which records. */
export type SelectionRequest = Pick<
  ExportRequest,
  'tenant' | 'store' | 'month' | 'from' | 'to' | 'kind' | 'dataset' | 'version' | 'split'
>;

/** The records of an export. */
export type Selection = {
  /**
   * Of a version with the tags that it froze. A slice of a dataset gets its tags from whoever reads it,
   * in the snapshot that it reads from, see `withTags` and `pinSlice`.
   */
  readonly slice: Slice & { readonly tenant: string };
  readonly version: Omit<VersionSlice, 'slice'> | null;
};

const excludedByVersion = ['store', 'month', 'from', 'to', 'kind', 'dataset'] as const;

/**
 * Which records a request means. `place` is `?` for a query, `/` for a body. Throws 400
 * `request_invalid`, 404 `version_not_found`.
 */
export async function toSelection(
  db: Queryable,
  request: SelectionRequest,
  actor: Actor,
  place: '?' | '/',
): Promise<Selection> {
  const { tenant, version: id, split } = request;
  if (id === undefined) {
    if (split !== undefined) throw invalidInput(`${place}split`, 'goes with a version');
    return { slice: { ...toSlice(request, actor, place), tenant }, version: null };
  }
  const excluded = excludedByVersion.find((name) => request[name] !== undefined);
  if (excluded !== undefined) {
    throw invalidInput(`${place}${excluded}`, 'goes without a version, which has its own records');
  }
  const { slice, ...version } = await readVersionSlice(db, { tenant, id, tenants: actor.tenants });
  if (split !== undefined && version.shares === null) {
    throw invalidInput(`${place}split`, `the version ${version.name} was frozen without shares`);
  }
  return { slice: split === undefined ? slice : { ...slice, split }, version };
}
