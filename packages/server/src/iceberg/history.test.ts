import { expect, test } from 'vitest';
import { type LivedFile, planSteps } from './history.ts';

const forever = Number.POSITIVE_INFINITY;
const file = (id: string, born: number, died = forever, tenant = 'TX') =>
  ({ id, tenant, born, died }) as LivedFile;
const known = { moment: 1000, since: 100, horizon: 100, looked: 500, most: 100 };

type Tenant = { files: LivedFile[]; told?: string[]; tenant?: string };
/** The steps as times and ids of files. */
function plan(tenants: Tenant[], more: Partial<typeof known> | { looked: null } = {}) {
  const looks = tenants.map(({ tenant = 'TX', files, told = [] }) => ({
    tenant,
    files,
    told: told.map((id) => ({ id })),
  }));
  return planSteps(looks, { ...known, ...more }).map(({ at, changes }) => [
    at,
    ...changes.map(({ files }) => files.map(({ id }) => id).join()),
  ]);
}

test('each switch since the last look is a step, with what was live from then on', () => {
  const merged = [file('a', 50, 700), file('b', 600, 700), file('c', 700)];
  expect(plan([{ files: merged, told: ['a'] }])).toEqual([
    [600, 'a,b'],
    [700, 'c'],
  ]);
});

test('when nothing happened there is none, but for a first snapshot, which may be empty', () => {
  expect(plan([{ files: [file('a', 50)], told: ['a'] }])).toEqual([]);
  expect(plan([])).toEqual([]);
  expect(plan([], { looked: null })).toEqual([[1000]]);
  expect(plan([{ files: [file('a', 50)] }], { looked: null })).toEqual([[1000, 'a']]);
});

test('the first tells of what was before and then of each switch', () => {
  const files = [file('a', 50), file('b', 300)];
  expect(plan([{ files }], { looked: null })).toEqual([
    [100, 'a'],
    [300, 'a,b'],
  ]);
});

test('of several tenants they follow one another by their times', () => {
  const one = { files: [file('a', 600), file('b', 800)] };
  const two = { tenant: 'ZZ', files: [file('x', 700, forever, 'ZZ')] };
  expect(plan([one, two])).toEqual([
    [600, 'a'],
    [700, 'x'],
    [800, 'a,b'],
  ]);
});

test('only the last ones are told one by one, and those before together', () => {
  const one = { files: [file('a', 600), file('b', 650), file('c', 800)] };
  const two = { tenant: 'ZZ', files: [file('x', 610, 900, 'ZZ')], told: [] };
  expect(plan([one, two], { most: 2 })).toEqual([
    [650, 'a,b', 'x'],
    [800, 'a,b,c'],
    [900, ''],
  ]);
  expect(plan([one], { most: 0 })).toEqual([[800, 'a,b,c']]);
});

test('what is up to the horizon is told together, as of then', () => {
  const files = [file('a', 600), file('b', 650), file('c', 800)];
  expect(plan([{ files }], { horizon: 700 })).toEqual([
    [700, 'a,b'],
    [800, 'a,b,c'],
  ]);
});

test('a switch that committed after the look is told, though it began before', () => {
  expect(plan([{ files: [file('a', 450), file('b', 490)], told: ['a'] }])).toEqual([[490, 'a,b']]);
});

test('a tenant that came and went is told of, and what was told already is not', () => {
  const files = [file('a', 50), file('b', 600, 700)];
  expect(plan([{ files, told: ['a'] }])).toEqual([
    [600, 'a,b'],
    [700, 'a'],
  ]);
  const earlier = [file('a', 50), file('b', 300, 400)];
  expect(plan([{ files: earlier, told: ['a'] }])).toEqual([]);
  // Readers were told of this one by a look that began just before.
  expect(plan([{ files: [file('a', 501)], told: ['a'] }])).toEqual([]);
});

test('what went in a way that nobody knows is told as of the last look, and history is not told again', () => {
  const files = [file('a', 200), file('b', 300), file('c', 800)];
  expect(plan([{ files, told: ['a', 'b', 'lost'] }])).toEqual([
    [100, 'a,b'],
    [800, 'a,b,c'],
  ]);
  expect(plan([{ files: [file('a', 50)], told: ['a', 'lost'] }])).toEqual([[1000, 'a']]);
});
