import fc from 'fast-check';
import { expect, test } from 'vitest';
import { hold } from '../../test/held-pace.ts';
import { createGate, createSharedBudget } from './gate.ts';

/** Work that is begun and ended by hand. Tells who is at work. */
function startWorks(places: number) {
  const gate = createGate(places);
  const atWork = new Set<string>();
  return {
    atWork: () => [...atWork].join(''),
    begin: (name: string, taken?: number) => {
      const held = hold();
      const ended = gate.run(async () => {
        atWork.add(name);
        await held.promise;
        atWork.delete(name);
      }, taken);
      return async () => {
        held.resolve();
        await ended;
      };
    },
  };
}

test('as many work at once as there are places, and the others in the order in which they came', async () => {
  const { begin, atWork } = startWorks(2);
  const ends = ['a', 'b', 'c', 'd'].map((name) => begin(name));
  expect(atWork()).toBe('ab');
  await ends[1]?.();
  expect(atWork()).toBe('ac');
  await ends[0]?.();
  expect(atWork()).toBe('cd');
});

test('who takes all places waits until all are free, and is not overtaken', async () => {
  const { begin, atWork } = startWorks(3);
  const [endA, endB] = [begin('a'), begin('b')];
  const endAll = begin('X', 3);
  const endC = begin('c');
  expect(atWork()).toBe('ab');
  await endA();
  expect(atWork()).toBe('b');
  await endB();
  expect(atWork()).toBe('X');
  await endAll();
  expect(atWork()).toBe('c');
  await endC();
});

test('a failure gives the places back', async () => {
  const gate = createGate(2);
  const fail = () => Promise.reject(new Error('no'));
  await expect(gate.run(fail, 2)).rejects.toThrow('no');
  expect(await gate.run(async () => 'yes', 2)).toBe('yes');
});

test('a budget that is shared never holds more than its limits, and forgets who gave all back', () => {
  const step = fc.record({ holder: fc.constantFrom('a', 'b', 'c'), amount: fc.nat(5) });
  fc.assert(
    fc.property(fc.array(step), fc.nat(12), fc.nat(8), (steps, total, each) => {
      const budget = createSharedBudget({ total, each });
      const held: { holder: string; amount: number }[] = [];
      const sum = (holder?: string) =>
        held.reduce(
          (all, one) => all + (one.holder === (holder ?? one.holder) ? one.amount : 0),
          0,
        );
      for (const { holder, amount } of steps) {
        const fits = sum() + amount <= total && sum(holder) + amount <= each;
        expect(budget.of(holder).take(amount)).toBe(fits);
        if (fits) held.push({ holder, amount });
        expect(budget.isFull()).toBe(sum() >= total);
        if (held.length % 3 === 2) {
          const [first] = held.splice(0, 1);
          budget.of(first?.holder ?? '').give(first?.amount ?? 0);
        }
      }
    }),
  );
});

test('one holder leaves to the others what is beyond its share', () => {
  const budget = createSharedBudget({ total: 4, each: 3 });
  const [greedy, other] = [budget.of('greedy'), budget.of('other')];
  expect([1, 2, 3, 4].map(() => greedy.take(1))).toEqual([true, true, true, false]);
  expect(other.take(1)).toBe(true);
  expect([other.take(1), budget.isFull()]).toEqual([false, true]);
  greedy.give(1);
  expect(other.take(1)).toBe(true);
});
