import { createReadStream, createWriteStream } from 'node:fs';
import { rm, stat, truncate, writeFile } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createGate } from '../../kernel/gate.ts';
import type { ObjectChecks } from './check-object.ts';
import {
  fromFileSystem,
  ObjectDamaged,
  type ObjectPiece,
  type ObjectRef,
  type ObjectStore,
} from './objects.ts';

type SparseCopyOptions = {
  readonly store: ObjectStore;
  readonly checks: ObjectChecks;
  /** Ends the fetching of pieces. */
  readonly signal: AbortSignal;
  /** Returns the path of a new file. */
  readonly nextPath: (suffix?: string) => Promise<string>;
  /** Counts the bytes of a piece before it is fetched, and makes room for them. */
  readonly reserve: (bytes: number) => Promise<void>;
  /** Counts them no more, because the piece did not come. */
  readonly giveBack: (bytes: number) => void;
};

/** Some pieces of an object at their places in a file with holes. Each was checked before, in a file of its own. */
export class SparseCopy {
  readonly #ref: ObjectRef;
  readonly #options: SparseCopyOptions;
  /** The pieces that are in the file or on their way, by their SHA-256 and place. */
  readonly #pieces = new Map<string, Promise<void>>();
  /** Only one at a time looks at the file's state or changes it. */
  readonly #file = createGate(1);
  /** What the file was like when the last piece came into it. */
  #state = '';
  /** How many pieces are on their way. */
  #fetching = 0;

  constructor(ref: ObjectRef, options: SparseCopyOptions) {
    this.#ref = ref;
    this.#options = options;
  }

  get isFetching(): boolean {
    return this.#fetching > 0;
  }

  /** Makes the file, which has no piece yet, and returns its path. */
  async make(): Promise<string> {
    const path = await this.#options.nextPath();
    try {
      await writeFile(path, '', { mode: 0o600 });
      await truncate(path, this.#ref.sizeBytes);
      this.#state = await stateOf(path);
      return path;
    } catch (error) {
      await rm(path, { force: true });
      throw this.#cannotCopy(error, path);
    }
  }

  /** Brings those pieces into the file that are not there. Throws SpoiltCopy when the file was changed by others. */
  async add(path: string, pieces: readonly ObjectPiece[]): Promise<void> {
    await this.#file.run(() => this.#assertUnchanged(path));
    const added = await Promise.allSettled(
      pieces.map((piece) => {
        const place = `${piece.start}-${piece.end} ${piece.sha256.toString('hex')}`;
        const known = this.#pieces.get(place);
        if (known !== undefined) return known;
        const work = this.#fetch(path, piece);
        this.#pieces.set(place, work);
        work.catch(() => this.#pieces.delete(place));
        return work;
      }),
    );
    for (const piece of added) if (piece.status === 'rejected') throw piece.reason;
  }

  /** Resolves when no piece is on its way any more. */
  async untilIdle(): Promise<void> {
    await Promise.allSettled([...this.#pieces.values()]);
  }

  async #fetch(path: string, piece: ObjectPiece): Promise<void> {
    const { key, sizeBytes: wholeBytes } = this.#ref;
    const { store, checks, signal, nextPath, reserve, giveBack } = this.#options;
    const { start, end, sha256 } = piece;
    const sizeBytes = end - start;
    const own = await nextPath('-piece');
    this.#fetching += 1;
    try {
      await reserve(sizeBytes);
      await store.get(key, own, signal, { start, end, sizeBytes: wholeBytes });
      await checks.check(own, { key, sizeBytes, sha256 }, { anew: true, signal });
      await this.#file.run(async () => {
        await this.#assertUnchanged(path);
        const target = createWriteStream(path, { flags: 'r+', start });
        await pipeline(createReadStream(own), target);
        this.#state = await stateOf(path);
      });
    } catch (error) {
      giveBack(sizeBytes);
      if (error instanceof ObjectDamaged) throw damagedPiece(piece, error);
      throw this.#cannotCopy(error, path);
    } finally {
      this.#fetching -= 1;
      checks.forget(own);
      await rm(own, { force: true });
    }
  }

  async #assertUnchanged(path: string): Promise<void> {
    const now = await stateOf(path).catch(() => null);
    if (now !== this.#state) throw new SpoiltCopy(new Error(`${path} was changed by another`));
  }

  #cannotCopy(error: unknown, path: string): unknown {
    return fromFileSystem(error, `The object ${this.#ref.key} cannot be copied to ${path}`);
  }
}

/** A copy that was right and is no longer. The object itself may still be, so it is fetched once more. */
export class SpoiltCopy extends Error {
  constructor(cause: unknown) {
    super('the copy is not what it was', { cause });
  }
}

/** A file that was replaced or written to has another inode, size or time of change. */
async function stateOf(path: string): Promise<string> {
  const { dev, ino, size, mtimeNs } = await stat(path, { bigint: true });
  return [dev, ino, size, mtimeNs].join(':');
}

function damagedPiece({ start, end }: ObjectPiece, cause: ObjectDamaged): ObjectDamaged {
  const what = `is not what was written: of its bytes from ${start} to ${end}, ${cause.message}`;
  return new ObjectDamaged(cause.key, what);
}
