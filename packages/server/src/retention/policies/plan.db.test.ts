import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import sql from 'sql-template-tag';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { runs } from '../../../test/runs.ts';
import type { Actor } from '../../kernel/actor.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { PlanRow } from '../contract.ts';
import { findWork, getPlan, type PlanRequest } from './plan.ts';
import { findDueDays, listDue } from './queries.ts';
import { type ClockedDatabase, createClockedDatabase } from './testing/clock.ts';
import {
  clearRetention,
  dayOfAge,
  recordBytes,
  type SeededDay,
  type SeededPolicy,
  type SeededVersion,
  seedDays,
  seedPolicy,
  seedVersion,
} from './testing/seed.ts';

const noon = '2026-03-20T12:00:00Z';
const tenants = ['!', 'T1', 'T2', 'ö'];
const cursorKey = randomBytes(32);

let db: ClockedDatabase;
beforeAll(async () => {
  db = await createClockedDatabase(noon);
});
afterAll(() => db.drop());
beforeEach(async () => {
  await db.setClock(noon);
  await clearRetention(db);
});

const actor = (reach: string[] | null = null): Actor => ({
  tokenId: 't',
  name: 'test',
  scopes: ['admin'],
  tenants: reach,
  expiresAt: null,
});

/** The whole plan, walked in pages that must all tell the same totals. */
async function walkPlan(request: PlanRequest = {}, reach: string[] | null = null, limit = 2) {
  const rows: PlanRow[] = [];
  let page = await getPlan(db, cursorKey, actor(reach), { ...request, limit });
  const { totals } = page;
  rows.push(...page.data);
  while (page.next_cursor !== null) {
    page = await getPlan(db, cursorKey, actor(reach), {
      ...request,
      limit,
      cursor: page.next_cursor,
    });
    expect(page.totals).toEqual(totals);
    rows.push(...page.data);
  }
  return { rows, totals };
}

type World = { days: SeededDay[]; policies: SeededPolicy[]; versions: SeededVersion[] };

/** What the specification says, day by day. `minAge` = of the first day that `before` leaves out. */
function planOf(world: World, minAge = -1) {
  return tenants.flatMap((tenant) => {
    const policy =
      world.policies.find((own) => own.tenant === tenant) ??
      world.policies.find((own) => own.tenant === '*');
    if (policy === undefined) throw new Error('no policy');
    const { hotDays, deleteDays = null, hold = false } = policy;
    const days = world.days.filter((day) => day.tenant === tenant && day.age > minAge);
    const versions = world.versions.filter((version) => version.tenant === tenant);
    const isDue = (day: SeededDay) => deleteDays !== null && day.age > deleteDays;
    const isKept = (day: SeededDay) =>
      versions.some(({ firstAge, lastAge }) => day.age <= firstAge && day.age >= lastAge);
    const hot = (day: SeededDay) => day.count - (day.cold ?? 0);
    const total = (found: SeededDay[], size: (day: SeededDay) => number) =>
      found.reduce((sum, day) => sum + size(day), 0);
    const gone = days.filter((day) => isDue(day) && !isKept(day));
    const kept = days.filter((day) => isDue(day) && isKept(day));
    const moved = days.filter(
      (day) => (!isDue(day) || isKept(day)) && day.age > hotDays && hot(day) > 0,
    );
    const row = (kind: PlanRow['kind'], found: SeededDay[], size: (day: SeededDay) => number) => ({
      tenant,
      kind,
      held: hold,
      ages: [Math.max(...found.map((day) => day.age)), Math.min(...found.map((day) => day.age))],
      count: total(found, size),
      versioned: 0,
      versions: [] as string[],
    });
    const rows: ReturnType<typeof row>[] = [];
    if (gone.length + kept.length > 0) {
      const ofDays = row('delete', gone.length > 0 ? gone : kept, (day) => day.count);
      const keepers = versions.filter(
        ({ firstAge }) => firstAge > Math.max(deleteDays ?? 0, minAge),
      );
      rows.push({
        ...ofDays,
        count: total(gone, (day) => day.count),
        versioned: total(kept, (day) => day.count),
        versions: kept.length === 0 ? [] : keepers.map(({ name }) => name).sort(),
      });
    }
    if (moved.length > 0) rows.push(row('move', moved, hot));
    return rows;
  });
}

async function expectedRows(world: World, minAge?: number): Promise<PlanRow[]> {
  return Promise.all(
    planOf(world, minAge).map(async ({ ages, count, versioned, ...row }) => ({
      ...row,
      first_day: await dayOfAge(db, ages[0] ?? 0),
      last_day: await dayOfAge(db, ages[1] ?? 0),
      count,
      bytes: count * recordBytes,
      versioned_count: versioned,
      versioned_bytes: versioned * recordBytes,
    })),
  );
}

function totalsOf(rows: PlanRow[]) {
  const sum = (some: PlanRow[]) => ({
    tenants: new Set(some.map((row) => row.tenant)).size,
    count: some.reduce((total, row) => total + row.count, 0),
    bytes: some.reduce((total, row) => total + row.bytes, 0),
  });
  const busy = rows.filter((row) => row.count > 0);
  const kept = rows
    .filter((row) => row.versioned_count > 0 && !row.held)
    .map((row) => ({ ...row, count: row.versioned_count, bytes: row.versioned_bytes }));
  return {
    move: sum(busy.filter((row) => row.kind === 'move' && !row.held)),
    delete: sum(busy.filter((row) => row.kind === 'delete' && !row.held)),
    held: sum(busy.filter((row) => row.held)),
    versioned: sum(kept),
  };
}

async function seed(world: World): Promise<void> {
  await clearRetention(db);
  await seedDays(db, world.days);
  for (const policy of world.policies) await seedPolicy(db, policy);
  for (const version of world.versions) await seedVersion(db, version);
}

const age = fc.integer({ min: -1, max: 8 });
const worlds: fc.Arbitrary<World> = fc.record({
  days: fc.uniqueArray(
    fc
      .record({
        tenant: fc.constantFrom(...tenants),
        store: fc.constantFrom('a', 'b'),
        age,
        count: fc.integer({ min: 1, max: 50 }),
        coldShare: fc.constantFrom(0, 0.5, 1),
      })
      .map(({ coldShare, ...day }) => ({ ...day, cold: Math.floor(day.count * coldShare) })),
    { selector: (day) => `${day.tenant}/${day.store}/${day.age}`, maxLength: 30 },
  ),
  policies: fc
    .record({
      base: fc.record({
        hotDays: fc.nat({ max: 7 }),
        deleteDays: fc.option(fc.integer({ min: 1, max: 7 })),
      }),
      own: fc.uniqueArray(
        fc.record({
          tenant: fc.constantFrom(...tenants),
          hotDays: fc.nat({ max: 7 }),
          deleteDays: fc.option(fc.integer({ min: 1, max: 7 })),
          hold: fc.boolean(),
        }),
        { selector: (policy) => policy.tenant },
      ),
    })
    .map(({ base, own }) => [{ tenant: '*', ...base }, ...own]),
  versions: fc
    .array(
      fc.record({
        tenant: fc.constantFrom(...tenants),
        lastAge: age,
        length: fc.integer({ min: 0, max: 3 }),
      }),
      { maxLength: 3 },
    )
    .map((all) =>
      all.map(({ tenant, lastAge, length }, n) => ({
        tenant,
        name: `v${n}`,
        lastAge,
        firstAge: lastAge + length,
      })),
    ),
});

test('a cursor of another plan is refused', async () => {
  await seedDays(db, [
    { tenant: 'T1', age: 9, count: 1 },
    { tenant: 'T2', age: 9, count: 1 },
  ]);
  const { next_cursor } = await getPlan(db, cursorKey, actor(), { limit: 1 });
  const other = { limit: 1, before: '2026-03-01', cursor: next_cursor ?? '' };
  await expect(getPlan(db, cursorKey, actor(), other)).rejects.toMatchObject({
    code: 'cursor_invalid',
  });
});

test('the size of hot space is told on the first page, and to tokens for all tenants only', async () => {
  await seedDays(db, [
    { tenant: 'T1', age: 9, count: 1 },
    { tenant: 'T2', age: 9, count: 1 },
  ]);
  const page = await getPlan(db, cursorKey, actor(), { limit: 1 });
  expect(page.hot_space).toMatchObject({ dead_bytes: 0, size_bytes: expect.any(Number) });
  const next = { limit: 1, cursor: page.next_cursor ?? '' };
  expect((await getPlan(db, cursorKey, actor(), next)).hot_space).toBeNull();
  expect((await getPlan(db, cursorKey, actor(['T1']), {})).hot_space).toBeNull();
});

test('nothing is due where there are no records', async () => {
  expect(await walkPlan()).toEqual({ rows: [], totals: totalsOf([]) });
});

test('the plan is what the policies say of every single day', async () => {
  await fc.assert(
    fc.asyncProperty(worlds, fc.option(age), async (world, minAge) => {
      await seed(world);
      const before = minAge === null ? undefined : await dayOfAge(db, minAge);
      const expected = await expectedRows(world, minAge ?? undefined);
      const { rows, totals } = await walkPlan(before === undefined ? {} : { before });
      expect(rows).toEqual(expected);
      expect(totals).toEqual(totalsOf(expected));

      const scope = { tenants: null, before };
      const { tenants: due, ...counts } = await findWork(db, scope);
      expect(counts).toEqual({
        total: totals.move.count + totals.delete.count,
        kept: totals.versioned.count,
      });
      const open = expected.filter((row) => !row.held && row.count > 0);
      expect(due).toEqual(
        [...new Set(open.map((row) => row.tenant))].map((tenant) => ({
          tenant,
          has_moves: open.some((row) => row.tenant === tenant && row.kind === 'move'),
          has_deletes: open.some((row) => row.tenant === tenant && row.kind === 'delete'),
        })),
      );
    }),
    { numRuns: runs(45) },
  );
});

test('a clock that is set back only makes the plan smaller', async () => {
  await fc.assert(
    fc.asyncProperty(worlds, fc.integer({ min: 1, max: 10 }), async (world, daysBack) => {
      await db.setClock(noon);
      await seed(world);
      const { totals } = await walkPlan();
      await db.setClock(`2026-03-${20 - daysBack}T12:00:00Z`);
      const shifted = {
        ...world,
        days: world.days.map((day) => ({ ...day, age: day.age - daysBack })),
        versions: world.versions.map((version) => ({
          ...version,
          firstAge: version.firstAge - daysBack,
          lastAge: version.lastAge - daysBack,
        })),
      };
      const back = await walkPlan();
      expect(back.rows).toEqual(await expectedRows(shifted, -100));
      const sum = (all: typeof totals) => all.move.count + all.delete.count + all.held.count;
      expect(sum(back.totals)).toBeLessThanOrEqual(sum(totals));
    }),
    { numRuns: runs(24) },
  );
});

test('a run that is told to delete days of versions finds them due, and nothing kept', async () => {
  await seedPolicy(db, { tenant: '*', hotDays: 3, deleteDays: 5 });
  await seedDays(db, [
    { tenant: 'T1', age: 9, count: 1 },
    { tenant: 'T1', age: 8, count: 2 },
  ]);
  await seedVersion(db, { tenant: 'T1', name: 'v1', firstAge: 8, lastAge: 8 });
  const due = (deleteVersioned: boolean) => findWork(db, { tenants: null, deleteVersioned });
  // What is kept becomes cold.
  expect(await due(false)).toEqual({
    total: 3,
    kept: 2,
    tenants: [{ tenant: 'T1', has_moves: true, has_deletes: true }],
  });
  expect(await due(true)).toEqual({
    total: 3,
    kept: 0,
    tenants: [{ tenant: 'T1', has_moves: false, has_deletes: true }],
  });
});

test('a day is due once its whole UTC day is older than the policy says', async () => {
  await seedDays(db, [{ tenant: 'T1', age: 3, count: 1 }]);
  await db.setClock('2026-03-20T23:59:59.999999Z');
  expect((await walkPlan()).rows).toEqual([]);
  await db.setClock('2026-03-21T00:00:00Z');
  expect((await walkPlan()).rows).toMatchObject([{ first_day: '2026-03-17', count: 1 }]);
});

test('due days are asked for by tenant, existing or not', async () => {
  await seedPolicy(db, { tenant: 'T1', hotDays: 0, deleteDays: 10, hold: true });
  await seedPolicy(db, { tenant: '*', hotDays: 3, deleteDays: null });
  expect(await findDueDays(db, 'T1')).toEqual({
    hold: true,
    lastMoveDay: '2026-03-19',
    lastDeleteDay: '2026-03-09',
  });
  expect(await findDueDays(db, 'T1', '2026-03-12')).toMatchObject({
    lastMoveDay: '2026-03-11',
    lastDeleteDay: '2026-03-09',
  });
  expect(await findDueDays(db, 'nobody', '2026-03-12')).toMatchObject({
    hold: false,
    lastMoveDay: '2026-03-11',
    lastDeleteDay: null,
  });
});

test('only tenants in reach are planned and summed', async () => {
  await seedDays(
    db,
    tenants.map((tenant) => ({ tenant, age: 9, count: 1 })),
  );
  const names = async (request: PlanRequest, reach: string[] | null) => {
    const { rows, totals } = await walkPlan(request, reach);
    expect(totals.move.tenants).toBe(rows.length);
    return rows.map((row) => row.tenant);
  };
  expect(await names({}, null)).toEqual(tenants);
  expect(await names({}, ['T2', 'T9', '!'])).toEqual(['!', 'T2']);
  expect(await names({ tenant: 'T2' }, ['T2', '!'])).toEqual(['T2']);
  expect(await names({ tenant: 'T1' }, ['T2', '!'])).toEqual([]);
  expect(await names({ tenant: 'T9' }, null)).toEqual([]);
});

test('a tenant with an unfinished move has work though nothing of it is due', async () => {
  await seedDays(db, [
    { tenant: 'T1', age: 9, count: 1, cold: 1 },
    { tenant: 'T2', age: 9, count: 1, cold: 1 },
    { tenant: 'T3', age: 9, count: 1, cold: 1 },
    { tenant: 'ö', age: 9, count: 1, cold: 1 },
  ]);
  await db.query(sql`
    insert into moves (tenant, id, kind, state, first_day, last_day, runner) values
      ('T1', 'a', 'compact', 'switched', '2026-03-01', '2026-03-01', 'r'),
      ('T2', 'b', 'delete', 'planned', '2026-03-01', '2026-03-01', 'r'),
      ('T3', 'd', 'erase', 'copied', '2026-03-01', '2026-03-01', 'r'),
      ('T0', 'e', 'erase', 'switched', '2026-03-01', '2026-03-01', 'r'),
      ('ö', 'c', 'move', 'removed', '2026-03-01', '2026-03-01', 'r')`);
  // Of T0 all records are erased.
  expect((await findWork(db, { tenants: null })).tenants).toEqual([
    { tenant: 'T0', has_moves: true, has_deletes: false },
    { tenant: 'T1', has_moves: true, has_deletes: false },
    { tenant: 'T2', has_moves: false, has_deletes: true },
    { tenant: 'T3', has_moves: true, has_deletes: false },
  ]);
  expect((await walkPlan()).rows).toEqual([]);
});

test('due tenants are read stretch by stretch', async () => {
  const many = Array.from({ length: 25 }, (_, n) => `T${String(n).padStart(3, '0')}`);
  await seedDays(
    db,
    many.map((tenant) => ({ tenant, age: 9, count: 1 })),
  );
  const seen: string[] = [];
  for (let from = ''; ; ) {
    const rows = await listDue(db, { tenants: null }, { from, isAfter: true, limit: 10 });
    seen.push(...rows.map((row) => row.tenant));
    const last = rows.at(-1);
    if (last === undefined) break;
    from = last.tenant;
  }
  expect(seen).toEqual(many);
});

test('a cursor goes only with the tenants in reach, whose totals it tells', async () => {
  await seedDays(db, [
    { tenant: 'T1', age: 9, count: 1 },
    { tenant: 'T2', age: 9, count: 1 },
    { tenant: 'T3', age: 9, count: 1 },
  ]);
  const { next_cursor: cursor } = await getPlan(db, cursorKey, actor(), { limit: 1 });
  const other = getPlan(db, cursorKey, actor(['T1', 'T2']), { limit: 1, cursor: cursor ?? '' });
  await expect(other).rejects.toMatchObject({ code: 'cursor_invalid' });
});

test('a later page looks only at the tenants that it shows, however far in it is', async () => {
  await seedDays(
    db,
    Array.from({ length: 1000 }, (_, n) => ({
      tenant: `T${String(n).padStart(4, '0')}`,
      age: 9,
      count: 1,
    })),
  );
  let statements = 0;
  const counted: Queryable = {
    query(...args) {
      statements += 1;
      return db.query(...args);
    },
  };
  const perPage: number[] = [];
  let cursor: string | null | undefined;
  while (cursor !== null) {
    statements = 0;
    const request = cursor === undefined ? { limit: 200 } : { limit: 200, cursor };
    const page = await getPlan(counted, cursorKey, actor(), request);
    expect(page.totals.move).toEqual({ tenants: 1000, count: 1000, bytes: 1000 * recordBytes });
    perPage.push(statements);
    cursor = page.next_cursor;
  }
  // The first page looks at all tenants, 250 at a time, and at the space; the last one finds that no more follow.
  expect(perPage).toEqual([7, 1, 1, 1, 2]);
});
