import fc from 'fast-check';
import sql from 'sql-template-tag';
import { beforeAll, expect, test } from 'vitest';
import { useTestDatabase } from '../../../test/database.ts';
import { runs } from '../../../test/runs.ts';
import { sumLeafDays, sumRecords } from '../queries.ts';
import { countSlice } from '../read/sum-segments.ts';
import { useColdStore } from '../read/testing/cold-store.ts';
import { freeze } from '../read/testing/freeze.ts';
import { ingest } from '../read/testing/walk.ts';
import { listIslands } from '../steps/queries.ts';
import { coldLabelConditions } from './cold-sql.ts';
import { selectSlice } from './queries.ts';
import type { DayWindow, KeyRange, Slice } from './slice.ts';

const stores = ['A', 'B', 'C', 'D'];
const days = Array.from({ length: 40 }, (_, n) => dayAt(n));
const records = stores.flatMap((store) =>
  days.flatMap((day) => [1, 2].map((n) => ({ store, day, event_id: `e${n}`, kind: `k${n}` }))),
);

const db = useTestDatabase();
const cold = useColdStore();
beforeAll(async () => {
  for (const tenant of ['hot', 'cold']) {
    const lines = records.map(({ day, ...rest }) =>
      JSON.stringify({ tenant, ...rest, occurred_at: `${day}T12:00:00Z`, enrichment: {} }),
    );
    await ingest(db, cold, [lines]);
  }
  await freeze(db, cold, { tenant: 'cold', id: 'seg_cold' });
});

function dayAt(n: number): string {
  return new Date(Date.UTC(2001, 0, 1 + n)).toISOString().slice(0, 10);
}

/** Every other day of a store or of all, so that no two windows become one. */
const everyOther = (store: string | null): DayWindow[] =>
  days.flatMap((from, n) => (n % 2 === 0 ? [{ store, from, until: dayAt(n + 1) }] : []));
const someDays = { store: null, from: dayAt(1), until: dayAt(2) };

const range: KeyRange = {
  first: { store: 'A', day: dayAt(30) },
  last: { store: 'C', day: dayAt(5) },
  minDay: dayAt(0),
  maxDay: dayAt(39),
};
const isInRange = ({ store, day }: { store: string; day: string }) =>
  (store > 'A' || day >= dayAt(30)) && (store < 'C' || (store === 'C' && day <= dayAt(5)));

test.each([
  ['few', [{ store: 'A', from: dayAt(3), until: dayAt(9) }, someDays]],
  ['many, all of stores', [...everyOther('A'), ...everyOther('C')]],
  ['many of all stores', everyOther(null)],
  [
    'many of all stores, and one of a store',
    [{ store: 'B', from: dayAt(1), until: dayAt(2) }, ...everyOther(null)],
  ],
  [
    'many of all stores, and many of a store',
    [
      ...everyOther(null),
      ...everyOther('C').map(({ store, from }) => ({
        store,
        from: dayAt(days.indexOf(from) + 1),
        until: dayAt(days.indexOf(from) + 2),
      })),
    ],
  ],
  ['many, and one of all stores', [someDays, ...everyOther('A'), ...everyOther('C')]],
])('a slice of a dataset has what lies in its windows: %s', async (_, windows) => {
  const slice: Slice & { tenant: string } = {
    tenant: 'hot',
    tenants: null,
    dataset: 'training',
    from: dayAt(1),
    until: dayAt(38),
    tags: { training: windows, fine_tuning: [] },
  };
  const own = records.filter(
    ({ store, day }) =>
      day >= dayAt(1) &&
      day < dayAt(38) &&
      windows.some(
        (window) => (window.store ?? store) === store && day >= window.from && day < window.until,
      ),
  );
  const ofRange = own.filter(isInRange);
  expect((await sumLeafDays(db, slice)).count).toBe(own.length);
  expect((await sumRecords(db, { ...slice, kind: 'k2' })).count).toBe(own.length / 2);
  expect((await sumLeafDays(db, { ...slice, range })).count).toBe(ofRange.length);
  const rows = await db.query(selectSlice({ ...slice, range }, sql`store, event_id`));
  expect(rows).toEqual(ofRange.map(({ store, event_id }) => ({ store, event_id })));
  const after = { store: 'A', day: dayAt(20) };
  const islands = await listIslands(db, slice, { after, limit: 1000 });
  const beyond = own.filter(({ store, day }) => store > 'A' || day > dayAt(20));
  expect(islands.reduce((sum, { count }) => sum + count, 0)).toBe(beyond.length);
  const frozen = { ...slice, tenant: 'cold', kind: 'k2' };
  expect((await countSlice(db, frozen, cold)).count).toBe(own.length / 2);
});

const awkward = [
  "'",
  "''",
  '"',
  '\\',
  "\\'",
  '\n',
  '\r',
  '\u0001',
  '\u007F',
  '$$',
  ';--',
  '\u{FEFF}',
  '\u{1F600}',
];
const unit = fc.oneof(fc.constantFrom(...awkward), fc.string({ unit: 'binary', maxLength: 2 }));
const anyText = fc.string({ unit }).filter((text) => !text.includes('\0'));

test('DuckDB compares with any text as it is', async () => {
  const property = fc.asyncProperty(fc.array(anyText, { minLength: 1 }), async (texts) => {
    const each = texts.map((text) => {
      const slice = { kind: text, where: `kind = ${JSON.stringify(text)}`, tenants: null };
      const bytes = Buffer.from(text).toString('hex');
      return `select ${coldLabelConditions(slice).join(' and ')} as fits
        from (select decode(unhex('${bytes}')) as kind)`;
    });
    const rows = await cold.duckdb.run(each.join(' union all '));
    expect(rows).toEqual(texts.map(() => ({ fits: true })));
  });
  await fc.assert(property, { numRuns: runs(50) });
});
