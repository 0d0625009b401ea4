import { expect, test } from 'vitest';
import { AppError } from '../../kernel/errors.ts';
import { type ObjectStore, storeUnavailable } from './objects.ts';
import { createPatientStore } from './patient-store.ts';

const away = storeUnavailable('The object cannot be read', 'the store says SlowDown');

/** A store of one object, of which each call throws these faults first, one after the other. */
function setUp(faults: unknown[]) {
  let time = 0;
  const told: string[] = [];
  const ending = new AbortController();
  const fail = () => {
    if (faults.length > 0) throw faults.shift();
  };
  const store = {
    location: 's3://cold/x',
    async put() {
      fail();
    },
    async head(key: string) {
      fail();
      return { key, sizeBytes: 1 };
    },
    async *list() {
      yield { key: 'records/a', sizeBytes: 1 };
      fail();
      yield { key: 'records/b', sizeBytes: 1 };
    },
    marker: {
      async read() {
        fail();
        return 'token';
      },
    },
  } as unknown as ObjectStore;
  const patient = createPatientStore(store, {
    signal: ending.signal,
    onWarning: (text) => told.push(text),
    now: () => time,
    sleep: async (millis) => {
      time += millis + 10_000;
    },
  });
  return { patient, told, ending, faults };
}

test('what is asked of a store that is away is asked again, and both are told once', async () => {
  const { patient, told } = setUp([away, away, away, away]);
  await patient.put('records/a', '/tmp/a');
  expect(told).toEqual([
    expect.stringMatching(/^Waiting for s3:.*SlowDown/),
    's3://cold/x answers again.',
  ]);
});

test('a list that broke off is given out whole, and each object once', async () => {
  const { patient } = setUp([away]);
  const keys: string[] = [];
  for await (const { key } of patient.list('records/')) keys.push(key);
  expect(keys).toEqual(['records/a', 'records/b']);
});

test('a short fault is not worth a line, and the marker is waited for as well', async () => {
  const { patient, told } = setUp([away]);
  expect(await patient.marker.read()).toBe('token');
  expect(told).toEqual([]);
});

test('an error of a place of backups is waited for by its cause', async () => {
  const wrapped = new AppError('backup_place_unavailable', { cause: away });
  const { patient, faults } = setUp([wrapped, wrapped]);
  expect(await patient.head('records/a')).toEqual({ key: 'records/a', sizeBytes: 1 });
  expect(faults).toEqual([]);
});

test('what waiting cannot help is thrown at once, and so is the reason of an end', async () => {
  const refused = new AppError('segment_damaged');
  const { patient, ending, faults } = setUp([refused, away]);
  await expect(patient.head('records/a')).rejects.toBe(refused);
  const interrupted = new AppError('interrupted');
  ending.abort(interrupted);
  await expect(patient.head('records/a')).rejects.toBe(interrupted);
  expect(faults).toEqual([]);
});
