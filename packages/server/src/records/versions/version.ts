import { formatDigest } from '../../kernel/digest.ts';
import { AppError } from '../../kernel/errors.ts';
import { numberOf } from '../../kernel/values.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { KeyRange, TenantSlice } from '../slice/slice.ts';
import { type DatasetName, splitNames } from '../values.ts';
import type { Shares, Version } from '../versions.contract.ts';
import { findFrozenSlice, type SharesRow, type StoredVersion } from './queries.ts';

/** Whether it may be the id of a version. */
export function isVersionId(text: string): boolean {
  return /^\w{1,100}$/.test(text);
}

export function versionNotFound(sought?: { tenant: string; id: string } | ''): AppError {
  const missing = sought
    ? `The tenant ${sought.tenant} has no dataset version with the id ${sought.id}`
    : 'There is no dataset version of this id, or no longer';
  return new AppError('version_not_found', {
    detail: `${missing}. GET /enrichment/dataset-versions lists them.`,
  });
}

/** Returns a version as answers show it. */
export function toVersion(row: StoredVersion): Version {
  const { current_count: count, current_bytes: bytes, current_digest: digest } = row;
  const isCounted = count !== null && bytes !== null && digest !== null;
  return {
    id: row.id,
    tenant: row.tenant,
    dataset: row.dataset,
    name: row.name,
    note: row.note,
    shares: sharesOf(row),
    group_by: row.group_by,
    where: row.where_text,
    ...frozenOf(row),
    recorded_before: row.recorded_before,
    slices: row.slices,
    state: row.state,
    splits: row.splits === null ? null : toSplits(row.splits),
    ungrouped: row.ungrouped,
    warnings: warningsOf(row),
    current: isCounted ? { count, bytes, digest: hex(digest) } : null,
    change: row.change,
    changed_at: row.change === null ? null : row.changed_at,
    error: row.error,
    created_at: row.created_at,
    created_by: row.created_by,
  };
}

function sharesOf(row: Pick<StoredVersion, SharesRow>): Version['shares'] {
  const { train_share: train, validation_share: validation, test_share: test } = row;
  return train === null || validation === null || test === null
    ? null
    : { train, validation, test };
}

function frozenOf(row: StoredVersion): Pick<Version, 'count' | 'bytes' | 'digest'> {
  const { is_counted: isCounted, count, bytes, digest } = row;
  return isCounted
    ? { count, bytes, digest: hex(digest) }
    : { count: null, bytes: null, digest: null };
}

/** Splits of groups that are off by more than so many percent of all records are told. */
const mostOff = 5;

/** Says what is odd about the groups of a version that was counted. */
export function warningsOf(
  row: Pick<StoredVersion, 'group_by' | 'ungrouped' | 'splits' | SharesRow>,
): string[] {
  const { group_by: group, ungrouped, splits } = row;
  const shares = sharesOf(row);
  if (group === null || splits === null || shares === null) return [];
  const all = splitNames.reduce((sum, name) => sum + splits[name].count, 0);
  if (all === 0) return [];
  const percentOf = (count: number) => (100 * count) / all;
  const off = splitNames.filter(
    (name) => Math.abs(percentOf(splits[name].count) - shares[name]) > mostOff,
  );
  const warnings: string[] = [];
  if (off.length > 0) {
    const each = off.map(
      (name) =>
        `${name} has ${percentOf(splits[name].count).toFixed(1)} % instead of ${shares[name]} %`,
    );
    warnings.push(
      `${each.join(', ')}: groups by ${group} are kept whole, and there are few, or some are large.`,
    );
  }
  if (ungrouped === all) {
    warnings.push(
      `No record has a value at ${group}, so each is a group by itself. GET /enrichment/fields tells which there are.`,
    );
  } else if (ungrouped !== null && ungrouped > 0) {
    warnings.push(
      `${numberOf(ungrouped, 'record')} of ${all.toLocaleString('en-US')} ${ungrouped === 1 ? 'has' : 'have'} no value at ${group}, or an object or an array: each is a group by itself.`,
    );
  }
  return warnings;
}

function toSplits({ train, validation, test }: NonNullable<StoredVersion['splits']>) {
  return { train: toSplit(train), validation: toSplit(validation), test: toSplit(test) };
}

function toSplit({ count, digest }: { count: number; digest: string }) {
  return { count, digest: hex(digest) };
}

function hex(digest: string): string {
  return formatDigest(BigInt(digest));
}

export type VersionSlice = {
  readonly id: string;
  readonly name: string;
  readonly dataset: DatasetName;
  readonly shares: Shares | null;
  /** By what its splits keep records together; null without groups. */
  readonly groupBy: string | null;
  /** What holds of its records beside the tags, as its slice says it, too. */
  readonly where: string | null;
  /** The stretches of the key order into which its exports are cut. */
  readonly parts: KeyRange[];
  /** When records of it were erased or deleted last. */
  readonly changedAt: string | null;
  /** Its records, with the tags as they were when it was frozen. Nothing that changes later changes this slice. */
  readonly slice: TenantSlice & { readonly dataset: DatasetName };
};

/** Returns the records that a version froze, of tenants in reach (null: all). Throws 404 `version_not_found`. */
export async function readVersionSlice(
  db: Queryable,
  { id, ...reach }: { tenant?: string; id: string; tenants: readonly string[] | null },
): Promise<VersionSlice> {
  const found = isVersionId(id) ? await findFrozenSlice(db, id, reach) : undefined;
  if (found === undefined) throw versionNotFound(reach.tenant && { tenant: reach.tenant, id });
  const shares = sharesOf(found);
  const { tenant, name, dataset, tags, group_by, where_text, parts } = found;
  return {
    id,
    name,
    dataset,
    shares,
    groupBy: group_by,
    where: where_text,
    parts,
    changedAt: found.changed_at,
    slice: {
      tenant,
      dataset,
      tags,
      recordedBefore: found.recorded_before,
      tenants: reach.tenants,
      shares: shares ?? undefined,
      groupBy: group_by ?? undefined,
      where: where_text ?? undefined,
    },
  };
}
