import { AppError } from '../../../kernel/errors.ts';
import {
  ObjectDamaged,
  ObjectMissing,
  type ObjectReader,
  type OpenObject,
} from '../../../platform/objects/objects.ts';
import type { Queryable } from '../../../platform/postgres/database.ts';
import type { Slice } from '../../slice.ts';
import { isLive, listSegments, type SegmentRow } from './queries.ts';

/** The segments of a slice as local files: each is read and checked once, and held until the end. */
export type OpenSegments = {
  /** Throws 500 `segment_damaged`, 503 `cold_tier_unavailable`. */
  path(segmentId: string): Promise<string>;
  /** Lets go of all. Call it when nobody reads any more. */
  release(): Promise<void>;
};

export type OpenOptions = {
  objects: ObjectReader;
  /** For what the catalogue says now, when an object of the snapshot is gone. */
  db: Queryable;
  signal: AbortSignal;
};

/** Before the first byte so much is checked (0.2 s), the rest when it is needed. */
const checkedAheadBytes = 256 * 1024 * 1024;

/** Finds the slice's segments in the snapshot, and opens the first of them. */
export async function openSegments(
  snapshot: Queryable,
  slice: Slice,
  options: OpenOptions,
): Promise<OpenSegments> {
  const rows = await listSegments(snapshot, slice);
  const byId = new Map(rows.map((row) => [row.id, row]));
  const opened = new Map<string, Promise<OpenObject>>();
  const open = (row: SegmentRow) => {
    const known = opened.get(row.id) ?? openSegment(row, slice, options);
    opened.set(row.id, known);
    return known;
  };
  const segments: OpenSegments = {
    async path(segmentId) {
      const row = byId.get(segmentId);
      if (row === undefined) throw new Error(`${segmentId} is not in the catalogue of segments`);
      return (await open(row)).path;
    },
    async release() {
      for (const result of await Promise.allSettled(opened.values())) {
        if (result.status === 'fulfilled') await result.value.release();
      }
      opened.clear();
    },
  };
  try {
    let ahead = 0;
    for (const row of rows) {
      ahead += row.size_bytes;
      if (ahead > checkedAheadBytes) break;
      await open(row);
    }
  } catch (error) {
    await segments.release();
    throw error;
  }
  return segments;
}

async function openSegment(
  row: SegmentRow,
  slice: Slice,
  { objects, db, signal }: OpenOptions,
): Promise<OpenObject> {
  const { object_key: key, size_bytes: sizeBytes, sha256 } = row;
  try {
    return await objects.open({ key, sizeBytes, sha256 }, { anew: true, signal });
  } catch (error) {
    const tenant = slice.tenant ?? '';
    if (error instanceof ObjectMissing && !(await isLive(db, tenant, row.id))) {
      throw new AppError('cold_tier_unavailable', {
        detail: `Cold data of ${tenant} was rewritten since this read began, and the old object is gone. Try again.`,
        retryAfterSeconds: 1,
        cause: error,
      });
    }
    if (error instanceof ObjectMissing || error instanceof ObjectDamaged) {
      throw segmentDamaged(tenant, row, error);
    }
    throw error;
  }
}

/** Tells whose data, which days and which object: what an operator has to restore. */
function segmentDamaged(tenant: string, row: SegmentRow, cause: Error): AppError {
  const days = `${row.first_day} … ${row.last_day}`;
  return new AppError('segment_damaged', {
    detail: `Cold data of ${tenant}, ${days}, cannot be read: ${cause.message}. Restore the object from a backup; retention verify lists all that is damaged.`,
    cause,
  });
}
