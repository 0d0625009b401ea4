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
  const wait = async <T>(own: AbortSignal | undefined, work: () => Promise<T>): Promise<T> => {
    const signal = own === undefined ? ending : AbortSignal.any([own, ending]);
    try {
      return await createStoreWait({ signal, note, ...timing }).run(work);
    } catch (error) {
      // A pause that was cut short tells less than why it was.
      signal.throwIfAborted();
      throw error;
    }
  };
  const { copyFrom } = store;
  return {
    ...store,
    ...(copyFrom && {
      copyFrom: (source, keys, signal) => wait(signal, () => copyFrom(source, keys, signal)),
    }),
    put: (key, path, signal, options) => wait(signal, () => store.put(key, path, signal, options)),
    get: (key, target, signal, stretch) =>
      wait(signal, () => store.get(key, target, signal, stretch)),
    head: (key, signal) => wait(signal, () => store.head(key, signal)),
    remove: (key, signal) => wait(signal, () => store.remove(key, signal)),
    async *list(prefix, signal) {
      yield* await wait(signal, async () => {
        const found: ObjectInfo[] = [];
        for await (const object of store.list(prefix, signal)) found.push(object);
        return found;
      });
    },
    marker: { ...store.marker, read: (signal) => wait(signal, () => store.marker.read(signal)) },
  };
}
