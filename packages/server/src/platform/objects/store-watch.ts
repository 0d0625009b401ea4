import { AppError } from '../../kernel/errors.ts';
import type { StoreState } from '../../kernel/values.ts';
import type { Log } from '../log.ts';
import { repeat } from '../work/repeat.ts';
import { fenced, isFenced, readOnly, type StoreFence, type StoreStanding } from './fence.ts';
import { type ObjectStore, storeUnavailable } from './objects.ts';

/** What is known of a store. */
export type StoreFinding = {
  readonly state: StoreState;
  readonly marked: StoreStanding['marked'];
  /** What keeps cold data from being written, perhaps from being read; null = nothing does. */
  readonly problem: AppError | null;
};

/** What is known of the store, without asking it. */
export type StoreWatch = {
  state(): StoreFinding;
  /** Looks now. */
  look(signal?: AbortSignal): Promise<StoreFinding>;
  /** Begins to look by itself. */
  start(): void;
  stop(): Promise<void>;
};

const lookMillis = 30_000;
const answerMillis = 15_000;

/**
 * Looks whether the store can be listed and written and whose it is, at the start and from then on: a wrong
 * bucket or a read-only folder must not wait for the first run to be found. Puts the marker where none is.
 */
export function createStoreWatch(parts: {
  store: ObjectStore;
  fence: StoreFence;
  log: Log;
}): StoreWatch {
  const { store, fence, log } = parts;
  let state: StoreFinding = { state: 'unknown', marked: null, problem: null };
  // Once is enough while all is well: it costs three requests, and a version each where a bucket keeps them.
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
    // A database that is away says nothing about the store.
    if (next.problem?.code === 'database_unavailable') return state;
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
