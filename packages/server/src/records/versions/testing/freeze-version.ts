import sql from 'sql-template-tag';
import { testActor } from '../../../../test/actor.ts';
import { newId } from '../../../kernel/ids.ts';
import type { Database, Queryable } from '../../../platform/postgres/database.ts';
import type { DatasetName } from '../../values.ts';
import type { NewVersion, Version } from '../../versions.contract.ts';
import { createVersion } from '../versions.ts';

/** Days of a store, or of all; null: open at this end. */
export type TestTag = { store?: string | null; from?: string | null; to?: string | null };

export async function addTag(
  db: Queryable,
  tenant: string,
  { store = null, from = null, to = null }: TestTag = {},
  dataset: DatasetName = 'training',
): Promise<void> {
  await db.query(sql`
    insert into tags (tenant, id, store, first_day, last_day, dataset, created_by)
    values (${tenant}, ${newId('tag')}, ${store}, ${from}::date, ${to}::date, ${dataset}, 'test')`);
}

/** Freezes what is tagged as training data, as an operator does. */
export function freezeVersion(
  db: Database,
  tenant: string,
  {
    name = 'v1',
    ...more
  }: Partial<Pick<NewVersion, 'name' | 'shares' | 'group_by' | 'where'>> = {},
): Promise<Version> {
  const act = { actor: testActor, request: {} as never, audit: async () => {} };
  return createVersion(db, act, { tenant, dataset: 'training', name, ...more });
}
