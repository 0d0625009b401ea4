import { AppError, isDatabaseAway } from '../../kernel/errors.ts';
import type { StoreState } from '../../kernel/values.ts';
import type { Log } from '../log.ts';
import { repeat } from '../work/repeat.ts';
import { fenced, isFenced, readOnly, type StoreFence, type StoreStanding } from './fence.ts';
import { type ObjectStore, storeUnavailable } from './objects.ts';

/** What is known of the store. */
export type StoreFinding = {
  readonly state: StoreState;
  readonly marked: StoreStanding['marked'];
  /** What keeps cold data from being written and perhaps from being read; null when nothing does. */
  readonly problem: AppError | null;
};

/** Knows the state of the store, so that routes and metrics need not ask the store itself. */
export type StoreWatch = {
  state(): StoreFinding;
  /** Looks now and returns what it found. */
  look(signal?: AbortSignal): Promise<StoreFinding>;
  /** Begins to look every 30 seconds. */
  start(): void;
  stop(): Promise<void>;
};

const lookMillis = 30_000;
const answerMillis = 15_000;

/**
 * Looks at the start and from then on whether the store can be listed and written, and whose it is: a wrong bucket or a
 * read-only folder must not stay unnoticed until the first retention run. It writes the marker to a store that has
 * none.
 */
export function createStoreWatch(parts: {
  store: ObjectStore;
  fence: StoreFence;
  log: Log;
}): StoreWatch {
  const { store, fence, log } = parts;
  let state: StoreFinding = { state: 'unknown', marked: null, problem: null };
  // While all is well, one try is enough. It costs a dozen requests, and leaves versions in a bucket that keeps them.
  let isWritable = false;

  async function tryStore(outer: AbortSignal | undefined): Promise<StoreFinding> {
    const late = AbortSignal.timeout(answerMillis);
    const signal = outer === undefined ? late : AbortSignal.any([outer, late]);
    let standing: StoreStanding | undefined;
    try {
      for await (const _ of store.list('records/', signal)) break;
      if (fence.isReadOnly) {
        standing = await fence.look(signal);
        return { ...standing, state: 'read_only', problem: readOnly() };
      }
      if (!isWritable) await store.tryWrite(signal);
      isWritable = true;
      standing = await fence.look(signal);
      if (standing.state === 'unclaimed') {
        await fence.advance(signal);
        standing = await fence.look(signal);
      }
      return { ...standing, problem: standing.state === 'own' ? null : fenced(standing) };
    } catch (error) {
      outer?.throwIfAborted();
      if (isFenced(error)) {
        return { state: 'unclaimed', marked: null, ...standing, problem: error };
      }
      isWritable = false;
      return { state: 'unavailable', marked: null, problem: toProblem(error, late.aborted) };
    }
  }

  function toProblem(error: unknown, isLate: boolean): AppError {
    if (error instanceof AppError) return error;
    const why = isLate ? `no answer came within ${answerMillis / 1000} s` : 'see the log';
    return storeUnavailable(`${store.location} cannot be used`, why, { cause: error });
  }

  async function look(signal?: AbortSignal): Promise<StoreFinding> {
    const next = await tryStore(signal);
    // When the database does not answer, that says nothing about the store, so the earlier finding stays.
    if (isDatabaseAway(next.problem)) return state;
    const { problem } = next;
    if (problem !== null && problem.detail !== state.problem?.detail) {
      const { code, detail, cause } = problem;
      log.warn({ code, detail, err: cause, marked: next.marked }, 'cold data cannot be written');
    } else if (problem === null && state.problem !== null) {
      log.info('cold data can be read and written again');
    }
    state = next;
    return state;
  }

  let looks: ReturnType<typeof repeat> | undefined;
  return {
    state: () => state,
    look,
    start() {
      looks = repeat(
        async (signal) => {
          await look(signal);
        },
        {
          everyMillis: lookMillis,
          onError: (err) => log.warn({ err }, 'the store of cold data could not be looked at'),
        },
      );
      looks.poke();
    },
    async stop() {
      await looks?.stop();
    },
  };
}
