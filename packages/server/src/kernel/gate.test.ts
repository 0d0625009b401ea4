import { expect, test } from 'vitest';
import { hold } from '../../test/held-pace.ts';
import { createGate } from './gate.ts';

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
