import type { ObjectInfo, ObjectStore } from './objects.ts';
import { createStoreWait, type StoreWaitOptions } from './store-wait.ts';

/** A store that answers again so soon is not worth a line. */
const toldSeconds = 3;

export type PatientStoreOptions = Partial<Pick<StoreWaitOptions, 'now' | 'sleep'>> & {
  /** Ends all waiting. */
  readonly signal: AbortSignal;
  /** Is told that the store is waited for, and why, and that it answers again. */
  readonly onWarning: (text: string) => void;
};

/**
 * The same store, but what is asked of its objects is asked again while the store does not answer, as a retention run does
 * it: for an hour, and not at all where waiting cannot help. It is for work that nobody takes up by itself. A list is
 * given out when all of it has come.
 */
export function createPatientStore(
  store: ObjectStore,
  { signal: ending, onWarning, ...timing }: PatientStoreOptions,
): ObjectStore {
  let isTold = false;
  const note: StoreWaitOptions['note'] = async (waiting) => {
    if (isTold && waiting === null) onWarning(`${store.location} answers again.`);
    if (!isTold && waiting !== null && waiting.seconds >= toldSeconds) {
      onWarning(`Waiting for ${store.location}, for an hour at most: ${waiting.reason}`);
      isTold = true;
    } else if (waiting === null) isTold = false;
  };
  const wait = async <T>(work: () => Promise<T>, own: AbortSignal | undefined): Promise<T> => {
    const signal = own === undefined ? ending : AbortSignal.any([own, ending]);
    try {
      return await createStoreWait({ signal, note, ...timing }).run(work);
    } catch (error) {
      // A pause that was cut short tells less than why it was.
      signal.throwIfAborted();
      throw error;
    }
  };
  return {
    ...aroundCalls(store, wait),
    marker: { ...store.marker, read: (signal) => wait(() => store.marker.read(signal), signal) },
  };
}

/** The same store, but what its calls throw is what `translate` makes of it. */
export function withErrors(
  store: ObjectStore,
  translate: (error: unknown) => unknown,
): ObjectStore {
  const told = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw translate(error);
    }
  };
  const { marker } = store;
  return {
    ...aroundCalls(store, told),
    marker: {
      read: (signal) => told(() => marker.read(signal)),
      swap: (expected, text, signal) => told(() => marker.swap(expected, text, signal)),
    },
  };
}

/** The same store, with each call about its objects made by `call`. A list is given out when all of it has come. */
function aroundCalls(
  store: ObjectStore,
  call: <T>(work: () => Promise<T>, signal: AbortSignal | undefined) => Promise<T>,
): ObjectStore {
  const { copyFrom } = store;
  return {
    ...store,
    ...(copyFrom && {
      copyFrom: (source, keys, signal) => call(() => copyFrom(source, keys, signal), signal),
    }),
    put: (key, path, signal, options) => call(() => store.put(key, path, signal, options), signal),
    get: (key, target, signal, part) => call(() => store.get(key, target, signal, part), signal),
    head: (key, signal) => call(() => store.head(key, signal), signal),
    remove: (key, signal) => call(() => store.remove(key, signal), signal),
    async *list(prefix, signal) {
      yield* await call(async () => {
        const found: ObjectInfo[] = [];
        for await (const object of store.list(prefix, signal)) found.push(object);
        return found;
      }, signal);
    },
  };
}
