import { formatDigest } from '../../kernel/digest.ts';
import type { Version } from '../versions.contract.ts';
import type { StoredVersion } from './queries.ts';

/** A version as the contract shows it. */
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
    count: row.count,
    bytes: row.bytes,
    digest: hex(row.digest),
    recorded_before: row.recorded_before,
    slices: row.slices,
    state: row.state,
    splits: row.splits === null ? null : toSplits(row.splits),
    current: isCounted ? { count, bytes, digest: hex(digest) } : null,
    change: row.change,
    changed_at: row.changed_at,
    error: row.error,
    created_at: row.created_at,
    created_by: row.created_by,
  };
}

function sharesOf(row: StoredVersion): Version['shares'] {
  const { train_share: train, validation_share: validation, test_share: test } = row;
  return train === null || validation === null || test === null
    ? null
    : { train, validation, test };
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
