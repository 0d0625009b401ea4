import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../test/runs.ts';
import type { CounterRun } from './counters.ts';
import { type CountedRow, planCoverage } from './coverage.ts';
import { arbitraryTags, countTagged, type TestTag, toWindows } from './testing/arbitrary-tags.ts';

type StoreDay = { store: string; day: string; count: number };

const stores = ['A', 'B', 'C'];
const tagDays = [
  ...['2000-12-31', '2001-01-01', '2001-01-15', '2001-01-31', '2001-02-01', '2001-02-02'],
  ...['2001-02-28', '2001-03-01', '2001-03-31', '2001-04-01', '2001-12-31'],
];

/** What the counters of a run add up to. A run of months must begin and end with one. */
function read(run: CounterRun, days: readonly StoreDay[]): number {
  if (run.table.endsWith('_months')) expect([run.from, run.until].join()).toMatch(/-01,.*-01$/);
  expect(run.store === null).toBe(run.table.startsWith('tenant_'));
  return days
    .filter(({ store }) => run.store === null || run.store === store)
    .filter(({ day }) => run.from <= day && day < run.until)
    .reduce((sum, { count }) => sum + count, 0);
}

function rowOf(store: string | null, days: readonly StoreDay[]): CountedRow {
  const dates = days.map(({ day }) => day).sort();
  return {
    tenant: 'TX',
    store,
    count: days.reduce((sum, { count }) => sum + count, 0),
    first_at: `${dates[0]}T00:00:00.000000Z`,
    last_at: `${dates.at(-1)}T23:59:59.999999Z`,
  };
}

function coverage(rows: readonly CountedRow[], days: readonly StoreDay[], tags: TestTag[]) {
  const { known, shares } = planCoverage(rows, new Map([['TX', toWindows(tags)]]));
  const sums = known.map((one) => ({ ...one }));
  for (const { places, run, weight } of shares) {
    for (const { row, ...scope } of places) {
      const sum = sums[row];
      if (sum === undefined) throw new Error('a share of no row');
      const count = read({ ...run, ...scope }, days);
      sum.covered += weight.covered * count;
      sum.training += weight.training * count;
      sum.fine_tuning += weight.fine_tuning * count;
    }
  }
  return sums;
}

const anyDays = fc.uniqueArray(
  fc.record({
    store: fc.constantFrom(...stores),
    day: fc.constantFrom(...tagDays, '2001-02-15', '2001-03-15', '2002-01-01'),
    count: fc.integer({ min: 1, max: 1000 }),
  }),
  { minLength: 1, maxLength: 30, selector: ({ store, day }) => `${store} ${day}` },
);

test('any tags cover of tenant, stores, months and leaves what counting gives', () => {
  const property = fc.property(anyDays, arbitraryTags({ stores, days: tagDays }), (days, tags) => {
    const parts: StoreDay[][] = [];
    const rows: CountedRow[] = [];
    const months = new Set(days.map(({ day }) => day.slice(0, 7)));
    for (const store of [null, ...stores]) {
      for (const month of [null, ...months]) {
        const part = days.filter(
          (one) => one.store === (store ?? one.store) && one.day.startsWith(month ?? ''),
        );
        if (part.length === 0) continue;
        parts.push(part);
        rows.push(rowOf(store, part));
      }
    }
    expect(coverage(rows, days, tags)).toEqual(parts.map((part) => countTagged(part, tags)));
  });
  fc.assert(property, { numRuns: runs(1000) });
});

const quarter = ['2001-01-01', '2001-01-20', '2001-02-10', '2001-03-31'].map((day) => ({
  store: 'A',
  day,
  count: 10,
}));
const plan = (store: string | null, tag: Partial<TestTag>) => {
  const given = { store: null, from: null, to: null, dataset: 'training' as const, ...tag };
  return planCoverage([rowOf(store, quarter)], new Map([['TX', toWindows([given])]]));
};

test('nothing is read when all days of a row are tagged, or none', () => {
  const all = { covered: 40, training: 40, fine_tuning: 0 };
  expect(plan('A', {})).toEqual({ known: [all], shares: [] });
  expect(plan('A', { from: '2001-01-01', to: '2001-03-31' })).toEqual({ known: [all], shares: [] });
  expect(plan(null, { to: '2001-03-31' })).toEqual({ known: [all], shares: [] });
  const none = { covered: 0, training: 0, fine_tuning: 0 };
  expect(plan('A', { store: 'B' })).toEqual({ known: [none], shares: [] });
  expect(plan('A', { from: '2001-04-01' })).toEqual({ known: [none], shares: [] });
});

test.each([
  ['store', 'A', 'leaf_'],
  ['tenant', null, 'tenant_'],
])('what is tagged of a %s is read, months rather than days', (_of, store, tables) => {
  const runs = (tag: Partial<TestTag>) => plan(store, tag).shares.map(({ run }) => run);
  const months = { table: `${tables}months`, from: '2001-02-01', until: '2001-04-01' };
  expect(runs({ from: '2001-02-01' })).toEqual([months]);
  const days = { table: `${tables}days`, from: '2001-01-10', until: '2001-02-01' };
  expect(runs({ from: '2001-01-10' })).toEqual([days, months]);
});
