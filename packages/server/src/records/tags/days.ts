import type { Static } from 'typebox';
import { type Actor, mayTouchTenant } from '../../kernel/actor.ts';
import { dayAfter } from '../../kernel/day.ts';
import { emptyPage, type Page, toKeyset, toPage } from '../../kernel/page.ts';
import type { Database, Queryable } from '../../platform/postgres/database.ts';
import { toSlice } from '../slice/slice.ts';
import type { DayRow, tagsContract } from '../tags.contract.ts';
import { tierOf } from '../values.ts';
import { type CounterScope, untagged } from './counters.ts';
import { addCoverage, type Coverage } from './coverage.ts';
import { type DayCounters, listCountedDays, sumRunsByDay } from './queries.ts';
import { clipStretches, type TenantStretches, toStretches } from './stretches.ts';
import { readTagsOf } from './windows.ts';

/** Returns one page of the days of a tenant or a store. Throws 400 `request_invalid` or `cursor_invalid`. */
export async function listDays(
  db: Database,
  cursorKey: Buffer,
  actor: Actor,
  request: Static<typeof tagsContract.listDays.query>,
): Promise<Page<DayRow>> {
  const { limit = 400, cursor, ...asked } = request;
  const { tenant } = asked;
  const slice = { ...toSlice(asked, actor, '?'), tenant };
  const scope = { list: 'days', filters: asked };
  const page = { cursorKey, scope, limit, cursor };
  const keyset = toKeyset(page);
  if (!mayTouchTenant(actor, tenant)) return emptyPage();
  return db.transaction(
    async (snapshot) => {
      const rows = await listCountedDays(snapshot, slice, keyset);
      const { data: shown, next_cursor } = toPage(page, rows, ({ day }) => [day]);
      const scope = { tenant, store: slice.store ?? null };
      return { data: await withCoverage(snapshot, scope, shown), next_cursor };
    },
    { isolation: 'repeatable read' },
  );
}

async function withCoverage(
  snapshot: Queryable,
  scope: CounterScope,
  rows: readonly DayCounters[],
): Promise<DayRow[]> {
  const tags = (await readTagsOf(snapshot, [scope.tenant])).get(scope.tenant);
  const coverage =
    tags === undefined ? new Map() : await coverDays(snapshot, scope, rows, toStretches(tags));
  return rows.map(({ day, count, bytes, cold_count }) => {
    const { covered, training, fine_tuning }: Coverage = coverage.get(day) ?? untagged;
    const tier = tierOf({ count, cold_count });
    return { day, count, bytes, tier, covered, by_dataset: { training, fine_tuning } };
  });
}

async function coverDays(
  snapshot: Queryable,
  { tenant, store }: CounterScope,
  rows: readonly DayCounters[],
  tags: TenantStretches,
): Promise<Map<string, Coverage>> {
  const [first, last] = [rows[0]?.day, rows.at(-1)?.day];
  if (first === undefined || last === undefined) return new Map();
  const coverage = new Map(rows.map(({ day }) => [day, { ...untagged }]));
  const add = (day: string, sum: Coverage, times: number) => {
    const own = coverage.get(day);
    if (own !== undefined) addCoverage(own, sum, times);
  };
  const page = { from: first, until: dayAfter(last) };
  const whole = clipStretches(tags.of(store), page);
  let at = 0;
  for (const { day, count } of rows) {
    while (at < whole.length && (whole[at]?.until ?? '') <= day) at += 1;
    const stretch = whole[at];
    if (stretch !== undefined && stretch.from <= day) add(day, stretch.weight, count);
  }
  // What the tags of all stores cover is known from the day's own counter. What the tags of single stores add to it
  // must be read from the counters of these stores.
  if (store !== null) return coverage;
  const runs = [...tags.added].flatMap(([name, stretches]) =>
    clipStretches(stretches, page).map((stretch) => ({ ...stretch, store: name })),
  );
  if (runs.length === 0) return coverage;
  for (const row of await sumRunsByDay(snapshot, tenant, runs)) add(row.day, row, 1);
  return coverage;
}
