import sql from 'sql-template-tag';
import type { Queryable } from '../../../platform/postgres/database.ts';
import { instantText } from '../../../platform/postgres/instant-sql.ts';
import type { DatasetName } from '../../contract.ts';
import type { KeyRange, TagWindows } from '../../slice.ts';

export type FrozenSlice = {
  name: string;
  dataset: DatasetName;
  train_share: number | null;
  validation_share: number | null;
  test_share: number | null;
  tags: TagWindows;
  recorded_before: string;
  parts: KeyRange[];
};

/** Which records a dataset version has. */
export async function findFrozenSlice(
  db: Queryable,
  version: { tenant: string; id: string },
): Promise<FrozenSlice | undefined> {
  const rows = await db.query<FrozenSlice>(sql`
    select name, dataset, train_share, validation_share, test_share, tags,
      ${instantText('recorded_before')} as recorded_before, parts
    from dataset_versions where tenant = ${version.tenant} and id = ${version.id}`);
  return rows[0];
}
