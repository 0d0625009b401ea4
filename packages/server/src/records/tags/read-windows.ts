import type { Queryable } from '../../platform/postgres/database.ts';
import type { Slice, TagWindows } from '../slice/slice.ts';
import { listTaggedDays } from './queries.ts';
import { mergeWindows } from './windows.ts';

/** Returns the tagged days of a tenant as they are now, or as they are in the snapshot of `db`. */
export async function readTagWindows(db: Queryable, tenant: string): Promise<TagWindows> {
  return (await readTagsOf(db, [tenant])).get(tenant) ?? { training: [], fine_tuning: [] };
}

/** Returns the tagged days of these tenants. Tenants without tags are not in the result. */
export async function readTagsOf(
  db: Queryable,
  tenants: readonly string[],
): Promise<Map<string, TagWindows>> {
  const tagged = new Map<string, Awaited<ReturnType<typeof listTaggedDays>>>();
  for (const window of await listTaggedDays(db, tenants)) {
    const own = tagged.get(window.tenant) ?? [];
    own.push(window);
    tagged.set(window.tenant, own);
  }
  return new Map(
    [...tagged].map(([tenant, windows]) => [
      tenant,
      {
        training: mergeWindows(windows.filter(({ dataset }) => dataset === 'training')),
        fine_tuning: mergeWindows(windows.filter(({ dataset }) => dataset === 'fine_tuning')),
      },
    ]),
  );
}

/**
 * Adds to a slice the tags that its dataset means. A slice without a dataset, or with pinned tags, is returned as it
 * is.
 */
export async function withTags(db: Queryable, slice: Slice): Promise<Slice> {
  const { tenant, dataset, tags } = slice;
  if (dataset === undefined || tenant === undefined || tags !== undefined) return slice;
  return { ...slice, tags: await readTagWindows(db, tenant) };
}
