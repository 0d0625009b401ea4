import sql from 'sql-template-tag';
import { invalidInput } from '../../kernel/errors.ts';
import { hiddenNameRule, isHidden, isHiddenName, type Name } from '../../kernel/names.ts';
import type { Queryable } from './database.ts';

/** The positions of names that are new: nothing is stored under the tenant, or under the store where that is hidden. */
export async function listNewNames(db: Queryable, names: readonly Name[]): Promise<number[]> {
  const tenants = names.map(({ tenant }) => tenant);
  const stores = names.flatMap(({ store }) => (store && isHiddenName(store) ? [store] : []));
  // Plain statements, because these tables may be spread over the workers of a cluster.
  const known = [
    ...(await db.query<Name>(sql`select tenant from leaf_tenants where tenant = any(${tenants})`)),
    ...(await db.query<Name>(sql`
      select distinct tenant from webhook_endpoints where tenant = any(${tenants})`)),
    ...(await db.query<Name>(sql`
      select tenant, store from leaf_stores where tenant = any(${tenants}) and store = any(${stores})`)),
  ];
  const keyOf = ({ tenant, store }: Name) =>
    `${tenant}/${store && isHiddenName(store) ? store : ''}`;
  const keys = new Set(known.map(keyOf));
  return [...names.keys()].filter((position) => !keys.has(keyOf(names[position] as Name)));
}

/** Throws 400 `request_invalid` for a name that is new and holds something that cannot be seen. */
export async function refuseHiddenNames(
  db: Queryable,
  path: string,
  names: readonly Name[],
): Promise<void> {
  const asked = names.filter(isHidden);
  if (asked.length === 0) return;
  if ((await listNewNames(db, asked)).length > 0) throw invalidInput(path, hiddenNameRule);
}
