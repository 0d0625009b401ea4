import { AppError } from '../kernel/errors.ts';
import { isObjectFault, type ObjectStore } from '../platform/objects/objects.ts';
import type { Queryable } from '../platform/postgres/database.ts';
import { copyObject } from './copy-object.ts';
import { objectKey } from './manifest.ts';
import { isIntact, type Place } from './place.ts';
import { eachObject, type ObjectRow } from './queries.ts';
import { sideBySide } from './side-by-side.ts';

const objectsAtOnce = 8;

export type ObjectSaver = {
  /**
   * Brings all objects that the database refers to into the place. Returns the pages of rows as they come, each when its
   * objects are in the place. What becomes of one that is missing or damaged, `onLacking` decides: it throws, or it is
   * in no page.
   */
  save(
    db: Queryable,
    options: { onLacking: (row: ObjectRow, fault: Error) => void; signal: AbortSignal },
  ): AsyncGenerator<ObjectRow[]>;
  /** How many bytes of objects were brought so far. */
  newBytes(): number;
};

/**
 * `sizes` says what the place holds, by key, and `trusted` which objects of it, as texts of `trustText`, need not be read
 * to know that they are what they should be. Any other object was read in this run, and its SHA-256 compared.
 */
export function createObjectSaver(tools: {
  readonly source: ObjectStore;
  readonly place: Place;
  readonly database: string;
  readonly spoolDir: string;
  readonly sizes: Map<string, number>;
  readonly trusted: ReadonlySet<string>;
  readonly onObject: (bytes: number) => void;
}): ObjectSaver {
  const { source, place, database, spoolDir, sizes, trusted } = tools;
  /** What this run has brought or read already. */
  const done = new Set<string>();
  let newBytes = 0;

  async function bring(row: ObjectRow, signal: AbortSignal): Promise<void> {
    const target = objectKey(database, row.key);
    if (done.has(row.key)) return;
    const isThere =
      sizes.get(target) === row.size_bytes &&
      (trusted.has(trustText(row)) || (await isIntact(place, { ...row, key: target }, signal)));
    if (!isThere) {
      const from = { store: source, key: row.key };
      const to = { store: place, key: target };
      await copyObject({ from, to, object: row }, { spoolDir, signal });
      sizes.set(target, row.size_bytes);
      newBytes += row.size_bytes;
    }
    done.add(row.key);
  }

  return {
    newBytes: () => newBytes,
    async *save(db, { onLacking, signal }) {
      for await (const page of eachObject(db)) {
        signal.throwIfAborted();
        const brought = await sideBySide(
          page,
          { atOnce: objectsAtOnce, signal },
          async (row, own): Promise<ObjectRow[]> => {
            try {
              await bring(row, own);
            } catch (error) {
              if (!isObjectFault(error)) throw error;
              onLacking(row, error);
              return [];
            } finally {
              tools.onObject(row.size_bytes);
            }
            return [row];
          },
        );
        yield brought.flat();
      }
    },
  };
}

/** Names an object with its content, as far as its reference tells it. */
export function trustText({
  key,
  size_bytes,
  sha256,
}: Pick<ObjectRow, 'key' | 'size_bytes' | 'sha256'>) {
  return `${key}\n${size_bytes}\n${sha256}`;
}

/** The 500 `segment_damaged` of a backup that would lack this object. */
export function lacking(row: ObjectRow, cause: Error): AppError {
  return new AppError('segment_damaged', {
    detail: `There is no backup: ${cause.message}. Run svcctl retention verify, and put the object ${row.key} back from an earlier backup. To save the rest without it: --allow-missing.`,
    cause,
  });
}
