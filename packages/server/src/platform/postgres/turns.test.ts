import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createTurns, type Turns } from './turns.ts';

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
/** Those who are left waiting when a test ends would be told so while another test runs. */
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Takes places by name, and tells in which order they were given. */
function startTaking(options: { places: number; share: number; now?: () => number }) {
  const turns = createTurns({ patienceMillis: 10_000, ...options });
  const given: string[] = [];
  const held: { name: string; giveBack: () => void }[] = [];
  const take = (name: string, as = name) =>
    turns.as(as, () =>
      takeFor(turns, (giveBack) => held.push({ name, giveBack }) && given.push(name)),
    );
  return {
    turns,
    given,
    held,
    take,
    giveBack: async (name = held[0]?.name) => {
      const [found] = held.splice(
        held.findIndex((each) => each.name === name),
        1,
      );
      found?.giveBack();
      await settled();
    },
  };
}

async function takeFor(turns: Turns, onTaken: (giveBack: () => void) => unknown): Promise<void> {
  onTaken(await turns.take());
}

test('callers take turns, whoever asked for most, and first', async () => {
  const { take, given, giveBack, turns } = startTaking({ places: 1, share: 1 });
  for (let n = 0; n < 200; n++) void take('greedy');
  for (const name of ['b', 'c', 'b']) void take(name);
  await settled();
  for (let n = 0; n < 6; n++) await giveBack();
  expect(given).toEqual(['greedy', 'greedy', 'b', 'c', 'greedy', 'b', 'greedy']);
  expect(turns.waiting()).toBe(203 - 7);
});

test('a caller has all places while no other calls, and its share while one does', async () => {
  let now = 0;
  const { take, held, giveBack } = startTaking({ places: 6, share: 2, now: () => now });
  const names = () => held.map(({ name }) => name).sort();
  for (let n = 0; n < 9; n++) void take('a');
  await settled();
  expect(names()).toEqual(['a', 'a', 'a', 'a', 'a', 'a']);
  void take('b');
  for (let n = 0; n < 5; n++) await giveBack('a');
  expect(names()).toEqual(['a', 'a', 'b']);
  for (let n = 0; n < 2; n++) void take('b');
  void take('c');
  await settled();
  expect(names()).toEqual(['a', 'a', 'b', 'b', 'c']);
  for (const name of ['b', 'b', 'c', 'b']) await giveBack(name);
  now = 1001;
  await giveBack('a');
  expect(names()).toEqual(['a', 'a', 'a']);
});

test('who holds a place gets a second one before all others', async () => {
  const { take, turns, given, giveBack } = startTaking({ places: 1, share: 1 });
  void take('a');
  for (let n = 0; n < 3; n++) void take('b');
  void turns.as('a', () => turns.holding(() => takeFor(turns, () => given.push('a again'))));
  await settled();
  await giveBack();
  expect(given).toEqual(['a', 'a again']);
});

test('what the process does by itself has turns, but no share', async () => {
  const { turns, take, given, giveBack } = startTaking({ places: 3, share: 1 });
  for (const name of ['a', 'b', 'c', 'a', 'b']) void take(name);
  for (let n = 0; n < 2; n++) void takeFor(turns, () => given.push('itself'));
  await settled();
  for (let n = 0; n < 4; n++) await giveBack();
  expect(given.filter((name) => name === 'itself')).toHaveLength(2);
});

test('who waits too long is told, and takes no turn afterwards', async () => {
  const { turns, take, given, held } = startTaking({ places: 1, share: 1 });
  await take('a');
  const refused = expect(take('b')).rejects.toThrow('timeout exceeded');
  await vi.advanceTimersByTimeAsync(9000);
  void take('c');
  await vi.advanceTimersByTimeAsync(1000);
  await refused;
  expect(turns.waiting()).toBe(1);
  held[0]?.giveBack();
  await vi.advanceTimersByTimeAsync(0);
  expect(given).toEqual(['a', 'c']);
});

test('no place is lost or given twice, and none is free that somebody who waits may have', async () => {
  const names = ['a', 'b', 'c', ''];
  const step = fc.oneof(
    fc.record({ take: fc.constantFrom(...names) }),
    fc.record({ give: fc.nat(20) }),
  );
  const options = fc.record({ places: fc.integer({ min: 1, max: 5 }), share: fc.constant(1) });
  await fc.assert(
    fc.asyncProperty(
      options,
      fc.array(step, { maxLength: 60 }),
      async ({ places, share }, steps) => {
        const { turns, take, held, given } = startTaking({ places, share });
        let asked = 0;
        const askedBy = new Map<string, number>();
        for (const each of steps) {
          if ('take' in each) {
            asked += 1;
            askedBy.set(each.take, (askedBy.get(each.take) ?? 0) + 1);
            void take(each.take);
          } else {
            const [found] = held.splice(each.give % Math.max(1, held.length), 1);
            found?.giveBack();
          }
          await settled();
          expect(given.length + turns.waiting()).toBe(asked);
          expect(held.length).toBeLessThanOrEqual(places);
          const isWaiting = (name: string) =>
            given.filter((each) => each === name).length < (askedBy.get(name) ?? 0);
          const isFree = held.length < places;
          const hasShare = (name: string) => name !== '' && held.some((each) => each.name === name);
          expect(names.filter((name) => isFree && isWaiting(name) && !hasShare(name))).toEqual([]);
        }
        while (held.length > 0) {
          held.shift()?.giveBack();
          await settled();
        }
        expect(given).toHaveLength(asked);
      },
    ),
  );
});
