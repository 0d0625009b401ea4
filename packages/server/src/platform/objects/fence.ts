import { hostname } from 'node:os';
import { AppError } from '../../kernel/errors.ts';
import { randomText } from '../../kernel/ids.ts';
import type { Database } from '../postgres/database.ts';
import * as queries from '../postgres/store-fence.ts';
import { unlessAborted } from '../work/unless-aborted.ts';
import { type ObjectStore, storeUnavailable } from './objects.ts';

/** How a database and a store stand to each other. */
export type StoreStanding = {
  /**
   * - own: the store belongs to this database.
   * - elsewhere: it has gone on with another database.
   * - unclaimed: it has no marker yet. It stays so while it holds objects that this database does not know, or lacks
   *   objects that this database knows.
   */
  readonly state: 'own' | 'elsewhere' | 'unclaimed';
  /** When, and by which machine, the store was last written, by that machine's clock; null if unknown. */
  readonly marked: { readonly at: string; readonly by: string } | null;
};

/**
 * Keeps a copy of a database (a clone, a restored backup) from destroying objects that the other copy needs. Database
 * and store both hold a token. Whoever writes or removes objects first moves the token forward, and the store takes a
 * new token only in place of one that this database knows: of two copies of a database, one is refused from then on.
 *
 * This is safe for a copy made at any moment, for killed and for suspended processes, and it needs no clock. Each
 * attempt uses a new token and writes it to the database before it asks the store to take it. So a process whose token
 * was taken knows that no copy of the database made before that moment can have a later one taken. Therefore an object
 * may be removed when a token was taken **after** the database had let go of it, and an object may become live when a
 * token was taken after its content was settled. A check at the beginning of long work only saves wasted work.
 */
export type StoreFence = {
  /**
   * Moves the token forward, once for all who ask at the same time. Throws 409 `store_fenced` when the store has gone on
   * with another database, 409 `store_read_only`, and 503 `cold_tier_unavailable`.
   */
  advance(signal?: AbortSignal): Promise<void>;
  /** Makes the same check and leaves the token as it is. It is meant for each of many removals after one `advance`. */
  assertOwn(signal?: AbortSignal): Promise<void>;
  /** Says how the store stands to this database and changes nothing. Throws 503 `cold_tier_unavailable`. */
  look(signal?: AbortSignal): Promise<StoreStanding>;
  /** Makes the store this database's from now on, whichever it belonged to. Throws 409 `store_read_only`. */
  adopt(signal?: AbortSignal): Promise<void>;
  /** Whether the settings forbid this process to change the store, whichever database it belongs to. */
  readonly isReadOnly: boolean;
};

type StoreFenceOptions = {
  readonly db: Database;
  readonly store: ObjectStore;
  /** Whether the objects in a store without a marker are those that this database knows. */
  readonly isKnown: (signal: AbortSignal) => Promise<boolean>;
  readonly isReadOnly?: boolean;
};

/** Everything that one call asks of the store must be answered within this time. */
const answerMillis = 9_000;
/** Tries of a swap. It fails only if a process that lost its lock, or a copy of the database, swaps at that moment. */
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

  /** The advance that has not begun yet; `last` is that which began before it. It never rejects. */
  let next: Promise<void> | null = null;
  let last: Promise<unknown> = Promise.resolve();

  /**
   * Whoever asks for an advance gets one that begins afterwards, as it must be; and it is enough to have one for all who
   * ask before it begins. It has no caller's signal: it goes on for the others when one of them goes away.
   */
  function share(): Promise<void> {
    if (next !== null) return next;
    const shared = last.then(() => {
      next = null;
      return take(false, undefined);
    });
    next = shared;
    last = shared.catch(() => {});
    return shared;
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
        // A token is written to the database before it is written to the store. So a token that is in neither of two
        // equal versions of the row, one read before and one after the look, is not ours. If the versions differ,
        // another process changed the row in between, and the look is repeated.
        if (isHeld(before, text) || isHeld(after, text)) return standingOf(text, true);
        if (before.version === after.version) return standingOf(text, false);
        before = after;
      }
    });

  return {
    advance: (signal) => unlessAborted(share(), signal),
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

/** Returns the same store with every change refused: a process that only reads cannot change it even by mistake. */
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

/** Throws 409 `store_read_only`: routes call it first, to refuse at once what cannot be written in the end. */
export function refuseReadOnly({ isReadOnly }: Pick<StoreFence, 'isReadOnly'>): void {
  if (isReadOnly) throw readOnly();
}

/** Returns the 409 of a process whose settings forbid it to change the store. */
export function readOnly(): AppError {
  return new AppError('store_read_only', {
    detail:
      'SVC_STORE=read-only: this process moves, merges, deletes and removes no cold data, and makes no files of exports. Processes with SVC_STORE=read-write do.',
  });
}

/** The 409 for a process that would write to a store of another database, with how to adopt it. */
export function fenced({ state, marked }: StoreStanding): AppError {
  return new AppError('store_fenced', {
    detail: `${describeFenced(state, marked)} ${adoptAdvice}`,
  });
}

/** Whether an error says that this process may not change the store: another database's, or by the settings. */
export function isFenced(error: unknown): error is AppError {
  return error instanceof AppError && ['store_fenced', 'store_read_only'].includes(error.code);
}

const adoptAdvice =
  'Cold data is only read. If this database is the one to go on: svcctl retention adopt-store.';

/** Explains to people why the store is not this database's. Call it with a state other than `own`. */
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

/** Makes a token such as `2026-03-05T14-07-09Z_9fK2…_host-1`: a valid file name that tells people when and by whom. */
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

/**
 * Throws 503 `cold_tier_unavailable` when the store does not answer in time, and the caller's reason when it aborts.
 */
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
