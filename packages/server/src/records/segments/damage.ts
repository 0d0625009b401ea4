import { AppError } from '../../kernel/errors.ts';
import {
  isObjectFault,
  ObjectDamaged,
  ObjectMissing,
  type ObjectReader,
  type OpenObject,
} from '../../platform/objects/objects.ts';

/** What an operator needs to know of a segment: which days cannot be read any more, and which object to restore. */
type Told = {
  readonly tenant: string;
  readonly first_day: string;
  readonly last_day: string;
  readonly object_key: string;
};

/** What the damage means to the reader who met it, if it means more than that the days cannot be read. */
type Meaning = {
  /** The beginning of a sentence; `days` is "of tenant … from … to …". */
  readonly problem: (days: string) => string;
  readonly remedy: string;
};

const unreadable: Meaning = {
  problem: (days) => `Cold data ${days} cannot be read`,
  remedy: 'Restore it from a backup, then run svcctl retention verify.',
};

/**
 * Returns the error of a read whose segment is missing or is not what was written: 500 `segment_damaged`. `cause` is an
 * ObjectMissing, an ObjectDamaged, or the DuckDbError for a file whose checksum was right.
 */
export function segmentDamaged(
  { tenant, first_day, last_day, object_key }: Told,
  cause: unknown,
  { problem, remedy }: Meaning = unreadable,
): AppError {
  const days = `of tenant ${tenant} from ${first_day} to ${last_day}`;
  return new AppError('segment_damaged', {
    detail: `${problem(days)}: the object ${object_key} ${whatOf(cause)}. ${remedy}`,
    cause,
  });
}

function whatOf(cause: unknown): string {
  if (cause instanceof ObjectMissing) return 'is missing';
  return cause instanceof ObjectDamaged ? 'is not what was written' : 'cannot be read';
}

/**
 * Opens the object of a segment. Throws 500 `segment_damaged` when it is missing or is not what was written; `meaning`
 * says what that means to the reader.
 */
export async function openSegment(
  objects: ObjectReader,
  segment: Told & { readonly size_bytes: number; readonly sha256: Buffer },
  options: Parameters<ObjectReader['open']>[1],
  meaning?: Meaning,
): Promise<OpenObject> {
  const { object_key: key, size_bytes: sizeBytes, sha256 } = segment;
  return objects.open({ key, sizeBytes, sha256 }, options).catch((error: unknown) => {
    throw isObjectFault(error) ? segmentDamaged(segment, error, meaning) : error;
  });
}
