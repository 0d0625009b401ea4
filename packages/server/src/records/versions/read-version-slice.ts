import { AppError } from '../../kernel/errors.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { DatasetName } from '../contract.ts';
import type { KeyRange, Slice } from '../slice.ts';
import type { Shares } from '../versions.contract.ts';
import { type FrozenSlice, findFrozenSlice } from './slice/queries.ts';

export type VersionSlice = {
  readonly id: string;
  readonly name: string;
  readonly dataset: DatasetName;
  readonly shares: Shares | null;
  /** The stretches of the key order that its exports are cut into. */
  readonly parts: KeyRange[];
  /** Its records, with the tags as they were: nothing that changes later changes them. */
  readonly slice: Slice & { readonly tenant: string; readonly dataset: DatasetName };
};

/**
 * The records that a dataset version froze. `tenants`: those the caller may see, null = all. Throws 404
 * `version_not_found`, for versions of other tenants too.
 */
export async function readVersionSlice(
  db: Queryable,
  version: { tenant: string; id: string; tenants: readonly string[] | null },
): Promise<VersionSlice> {
  const { tenant, id, tenants } = version;
  const mayTouch = tenants === null || tenants.includes(tenant);
  const found = mayTouch ? await findFrozenSlice(db, { tenant, id }) : undefined;
  if (found === undefined) {
    throw new AppError('version_not_found', {
      detail: `The tenant ${tenant} has no dataset version with the id ${id}. GET /enrichment/dataset-versions lists them.`,
    });
  }
  const shares = sharesOf(found);
  const { name, dataset, tags, recorded_before: recordedBefore, parts } = found;
  return {
    id,
    name,
    dataset,
    shares,
    parts,
    slice: { tenant, dataset, tags, recordedBefore, shares: shares ?? undefined, tenants },
  };
}

function sharesOf({ train_share, validation_share, test_share }: FrozenSlice): Shares | null {
  if (train_share === null || validation_share === null || test_share === null) return null;
  return { train: train_share, validation: validation_share, test: test_share };
}
