import { hostname } from 'node:os';
import { AppError } from '../../kernel/errors.ts';
import { randomText } from '../../kernel/ids.ts';
import type { Database } from '../postgres/database.ts';
import * as queries from '../postgres/store-fence.ts';
import { type ObjectStore, storeUnavailable } from './objects.ts';

/** How a database and a store stand to each other. */
export type StoreStanding = {
  /**
   * own: the store is this database's. elsewhere: it has gone on with another one. unclaimed: it has no
   * marker yet; with objects in it that this database does not know, or without those that it knows, it
   * stays so.
   */
  readonly state: 'own' | 'elsewhere' | 'unclaimed';
  /** When and by whom the store was written last, by the clock of whoever did. */
  readonly marked: { readonly at: string; readonly by: string } | null;
};

/**
 * Keeps a copy of a database (a clone, a restored backup) from destroying objects that the other one
 * needs. Database and store hold one token; who writes or removes takes it forward first, and the store
 * takes only a token that follows the one it has: of two copies of a database one is refused from then on.
 *
 * What makes it safe against a copy made at any moment, kills and suspended processes, without a clock: a
 * token is new with each attempt and written to the database before the store is asked to take it. Who has
 * one taken knows that no copy made before that moment can have another one taken. So an object may be
 * removed when a token was taken **after** the database had let go of it, and may become live when a token
 * was taken after its content was settled; a check at the beginning of long work is a courtesy.
 */
export type StoreFence = {
  /**
   * Takes the token forward. Throws 409 `store_fenced` when the store has gone on with another database,
   * `store_read_only`, 503 `cold_tier_unavailable`.
   */
  advance(signal?: AbortSignal): Promise<void>;
  /** The same, but leaves the token as it is: for each of many removals after an `advance`. */
  assertOwn(signal?: AbortSignal): Promise<void>;
  /** Changes nothing. Throws 503 `cold_tier_unavailable`. */
  look(signal?: AbortSignal): Promise<StoreStanding>;
  /** From now on the store is this database's, whosever it was. Throws 409 `store_read_only`. */
  adopt(signal?: AbortSignal): Promise<void>;
  /** Whether this process must not change the store, whosever it is. */
  readonly isReadOnly: boolean;
};

export type StoreFenceOptions = {
  readonly db: Database;
  readonly store: ObjectStore;
  /** Whether what lies in a store without a marker is this database's. */
  readonly isKnown: (signal: AbortSignal) => Promise<boolean>;
  readonly isReadOnly?: boolean;
};

/** All of a store's answers to one call. */
const answerMillis = 9_000;
/** Others that take it at the same moment are processes of this database that lost its lock, or copies. */
const attempts = 5;

export function createStoreFence(options: StoreFenceOptions): StoreFence {
  const { db, store, isKnown, isReadOnly = false } = options;
  const { marker } = store;

  async function assertFollows(text: string | null, fence: queries.Fence, signal: AbortSignal) {
    if (text === null ? await isKnown(signal) : isHeld(fence, text)) return;
    throw fenced(standingOf(text, false));
  }

  async function take(isAsked: boolean, outer: AbortSignal | undefined): Promise<void> {
    outer?.throwIfAborted();
    refuseReadOnly({ isReadOnly });
    await queries.withFenceLock(db, (session) =>
      inTime(store, outer, async (signal) => {
        for (let attempt = 1; attempt <= attempts; attempt += 1) {
          const text = await marker.read(signal);
          if (!isAsked) await assertFollows(text, await queries.readFence(session), signal);
          const token = newToken();
          await queries.addPending(session, token);
          if (await marker.swap(text, token, signal)) {
            return await queries.confirm(session, token);
          }
        }
        throw storeUnavailable(`The marker of ${store.location} cannot be written`, 'others do');
      }),
    );
  }

  const look = (outer?: AbortSignal) =>
    inTime(store, outer, async (signal) => {
      let before = await queries.readFence(db);
      for (;;) {
        const text = await marker.read(signal);
        if (text === null) {
          return standingOf(text, false);
        }
        const after = await queries.readFence(db);
        // A token is written to the database before the store: what is in neither of two equal rows
        // around the look is none of ours. Rows that differ mean that another process was at it.
        if (isHeld(before, text) || isHeld(after, text)) return standingOf(text, true);
        if (before.version === after.version) return standingOf(text, false);
        before = after;
      }
    });

  return {
    advance: (signal) => take(false, signal),
    adopt: (signal) => take(true, signal),
    look,
    async assertOwn(signal) {
      refuseReadOnly({ isReadOnly });
      const standing = await look(signal);
      if (standing.state !== 'own') throw fenced(standing);
    },
    isReadOnly,
  };
}

/** A store that this process only reads: not even by mistake does it change it. */
export function onlyRead(store: ObjectStore): ObjectStore {
  const refuse = () => Promise.reject(readOnly());
  return {
    ...store,
    put: refuse,
    endUpload: refuse,
    remove: refuse,
    tryWrite: refuse,
    marker: { read: (signal) => store.marker.read(signal), swap: refuse },
  };
}

/** Throws 409 `store_read_only`: what would be written in the end is better refused at once. */
export function refuseReadOnly({ isReadOnly }: Pick<StoreFence, 'isReadOnly'>): void {
  if (isReadOnly) throw readOnly();
}

export function readOnly(): AppError {
  return new AppError('store_read_only', {
    detail:
      'SVC_STORE=read-only: this process moves, merges, deletes and removes no cold data, and makes no files of exports. Processes with SVC_STORE=read-write do.',
  });
}

/** 409 for who would write. */
export function fenced({ state, marked }: StoreStanding): AppError {
  return new AppError('store_fenced', {
    detail: `${describeFenced(state, marked)} ${adoptAdvice}`,
  });
}

/** Whether an error says that this process may not change the store: another database has it, or by its settings. */
export function isFenced(error: unknown): error is AppError {
  return error instanceof AppError && ['store_fenced', 'store_read_only'].includes(error.code);
}

const adoptAdvice =
  'Cold data is only read. If this database is the one to go on: svcctl retention adopt-store.';

export function describeFenced(
  state: StoreStanding['state'],
  marked: StoreStanding['marked'],
): string {
  return state === 'elsewhere'
    ? `The store of cold data has gone on with another database${marked === null ? '' : ` (last written ${marked.at})`}: this one, or that one, is a copy.`
    : 'The store of cold data is not the one that this database knows: it has no marker, and other objects. SVC_BLOB_URL may name another place.';
}

function isHeld({ confirmed, pending }: queries.Fence, text: string): boolean {
  return text === confirmed || pending.includes(text);
}

/** Such as 2026-03-05T14-07-09Z_9fK2…_host-1: a name of a file, and something for people to read. */
function newToken(): string {
  const at = new Date().toISOString().replace(/\.\d+/, '').replaceAll(':', '-');
  const by = hostname()
    .replaceAll(/[^0-9A-Za-z.-]/g, '-')
    .slice(0, 60);
  return `${at}_${randomText(24)}_${by}`;
}

function standingOf(text: string | null, isOwn: boolean): StoreStanding {
  const [, day, time, by] = /^(\d{4}-\d\d-\d\d)T([\d-]{8})Z_\w+_(.*)$/.exec(text ?? '') ?? [];
  const marked =
    day === undefined || time === undefined
      ? null
      : { at: `${day}T${time.replaceAll('-', ':')}.000000Z`, by: by ?? '' };
  return { state: text === null ? 'unclaimed' : isOwn ? 'own' : 'elsewhere', marked };
}

async function inTime<T>(
  store: ObjectStore,
  outer: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  outer?.throwIfAborted();
  const late = AbortSignal.timeout(answerMillis);
  try {
    return await work(outer === undefined ? late : AbortSignal.any([outer, late]));
  } catch (error) {
    outer?.throwIfAborted();
    if (!late.aborted || error instanceof AppError) throw error;
    throw storeUnavailable(
      `The marker of ${store.location} cannot be read`,
      `no answer came within ${answerMillis / 1000} s`,
      { cause: error },
    );
  }
}
