import { randomBytes } from 'node:crypto';
import sql from 'sql-template-tag';
import { beforeAll, expect, test } from 'vitest';
import { useTestService } from '../../../test/service.ts';
import type { Actor } from '../../kernel/actor.ts';
import { seedDays } from '../policies/testing/seed.ts';
import { listMoves, type MovesRequest } from './moves.ts';
import { countFailedTenants } from './queries.ts';

const moveCount = 60;
const service = useTestService({ SVC_ROLES: 'api', SVC_RATE_LIMIT: '0' });
let limited: string;
beforeAll(async () => {
  ({ token: limited } = await service.makeToken({
    preset: 'support-readonly',
    tenants: ['T1', 'T2', 'T9'],
  }));
  // Three moves share each instant: their ids decide.
  await service.db.query(sql`
    insert into moves (tenant, id, run_id, kind, state, first_day, last_day, planned_at, runner)
    select 'T' || n % 4, 'mov_' || lpad(n::text, 3, '0'), 'run_' || n % 5,
      (array['move', 'compact', 'delete', 'erase'])[1 + n % 3], case when n = 7 then 'failed' else 'removed' end,
      date '2026-03-31' + (n % 4 = 3)::int, date '2026-03-31' + (n % 2)::int, '2026-03-05T00:00:00.000001Z'::timestamptz + n / 3 * interval '1 second', 'r'
    from generate_series(0, ${moveCount - 1}) n`);
});

const all = Array.from({ length: moveCount }, (_, n) => moveCount - 1 - n);
const numbers = (rows: { id: string }[]) => rows.map((row) => Number(row.id.slice(4)));
const list = async (query: string, limit = 500, token?: string) =>
  numbers(await service.all(`/retention/moves?limit=${limit}${query}`, token));

test.each([
  'state=done',
  'kind=copy',
  'month=2026-13',
  'tenant=',
  'tenants=T1',
  'limit=0',
  'cursor=abc',
  `run_id=${'x'.repeat(101)}`,
])('refuses ?%s', async (query) => {
  expect((await service.call('GET', `/retention/moves?${query}`)).status).toBe(400);
});

test('a cursor goes only with its filters', async () => {
  const { next_cursor } = (await service.call('GET', '/retention/moves?limit=2')).json;
  const answer = await service.call(
    'GET',
    `/retention/moves?kind=move&limit=2&cursor=${next_cursor}`,
  );
  expect(answer.json.code).toBe('cursor_invalid');
});

test('an unknown move and a foreign one answer 404', async () => {
  for (const id of ['mov_x', '%00', 'é']) {
    const answer = await service.call('GET', `/retention/moves/${id}`);
    expect(answer.json, id).toMatchObject({ status: 404, code: 'move_not_found' });
  }
  const foreign = await service.call('GET', '/retention/moves/mov_003', { token: limited });
  expect(foreign.json.code).toBe('move_not_found');
  expect((await service.call('GET', '/retention/moves/mov_003')).status).toBe(200);
});

test('moves are listed latest first, each once, whatever the page size', async () => {
  for (const limit of [1, 7, moveCount, 500]) expect(await list('', limit)).toEqual(all);
});

test('moves are found by tenant, kind, state and run', async () => {
  expect(await list('&tenant=T2', 4)).toEqual(all.filter((n) => n % 4 === 2));
  expect(await list('&kind=compact', 4)).toEqual(all.filter((n) => n % 3 === 1));
  // Half of them reach into April, and a quarter is of April alone.
  const isOfApril = (n: number) => n % 2 === 1;
  expect(await list('&month=2026-03', 4)).toEqual(all.filter((n) => n % 4 !== 3));
  expect(await list('&month=2026-04', 4)).toEqual(all.filter(isOfApril));
  expect(await list('&month=2026-02', 4)).toEqual([]);
  expect(await list('&state=failed')).toEqual([7]);
  expect(await list('&run_id=run_3&tenant=T1', 1)).toEqual(
    all.filter((n) => n % 5 === 3 && n % 4 === 1),
  );
  expect(await list('&tenant=nobody')).toEqual([]);
});

test('a limited token reads the moves of its tenants only', async () => {
  const own = all.filter((n) => n % 4 === 1 || n % 4 === 2);
  for (const limit of [1, 7, 500]) expect(await list('', limit, limited)).toEqual(own);
  expect(await list('&kind=move', 2, limited)).toEqual(own.filter((n) => n % 3 === 0));
  expect(await list('&tenant=T3', 2, limited)).toEqual([]);
});

test('a filter looks at so many moves a page: it may be short, and the walk still finds all', async () => {
  const cursorKey = randomBytes(32);
  const walk = async (request: MovesRequest, tenants: string[] | null) => {
    const actor: Actor = { tokenId: '', name: '', scopes: ['admin'], tenants, expiresAt: null };
    const sizes: number[] = [];
    const rows: { id: string }[] = [];
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<typeof listMoves>> = await listMoves(
        service.db,
        actor,
        { ...request, limit: 5, ...(cursor === null ? {} : { cursor }) },
        { cursorKey, scanLimit: 8 },
      );
      rows.push(...page.data);
      sizes.push(page.data.length);
      cursor = page.next_cursor;
    } while (cursor !== null);
    return { found: numbers(rows), sizes };
  };
  const seldom = await walk({ state: 'failed' }, null);
  expect(seldom.found).toEqual([7]);
  expect(seldom.sizes).toEqual([0, 0, 0, 0, 0, 0, 1, 0]);
  expect((await walk({ kind: 'move' }, null)).found).toEqual(all.filter((n) => n % 3 === 0));
  expect((await walk({ state: 'removed' }, null)).found).toEqual(all.filter((n) => n !== 7));
  expect((await walk({ kind: 'delete' }, ['T0', 'T3'])).found).toEqual(
    all.filter((n) => n % 3 === 2 && (n % 4 === 0 || n % 4 === 3)),
  );
});

test('a move tells its triples, its objects and its transitions', async () => {
  await service.db.query(sql`
    update moves set source_count = 10, source_bytes = 1000, source_digest = 18446744073709551615,
      object_count = 10, object_bytes = 1000, object_digest = 255, gone_count = 1, gone_bytes = 100,
      gone_digest = 1, stored_bytes = 50, copied_at = '2026-03-05T01:00:00Z', failed_in = 'copied',
      failed_at = '2026-03-05T02:00:00Z', error_code = 'verify_failed', error = 'differs'
    where id = 'mov_007'`);
  await service.db.query(sql`
    insert into move_segments (tenant, move_id, segment_id, role, object_key)
    select 'T3', 'mov_007', 's' || n, case when n < 2 then 'out' else 'in' end, 'k' || n
    from generate_series(1, 4) n`);
  const { json } = await service.call('GET', '/retention/moves/mov_007');
  expect(json).toEqual({
    id: 'mov_007',
    tenant: 'T3',
    run_id: 'run_2',
    kind: 'compact',
    state: 'failed',
    first_day: '2026-04-01',
    last_day: '2026-04-01',
    source: { count: 10, bytes: 1000, digest: 'ffffffffffffffff' },
    object: { count: 10, bytes: 1000, digest: '00000000000000ff' },
    gone: { count: 1, bytes: 100, digest: '0000000000000001' },
    stored_bytes: 50,
    segments_in: 3,
    segments_out: 1,
    planned_at: '2026-03-05T00:00:02.000001Z',
    copied_at: '2026-03-05T01:00:00.000000Z',
    verified_at: null,
    switched_at: null,
    removed_at: null,
    failed_at: '2026-03-05T02:00:00.000000Z',
    failed_in: 'copied',
    error_code: 'verify_failed',
    error: 'differs',
  });
  expect((await service.call('GET', '/retention/moves?state=failed')).json.data).toEqual([json]);
  const other = await service.call('GET', '/retention/moves/mov_006');
  expect(other.json).toMatchObject({ source: null, object: null, gone: { count: 0 } });
});

test('tenants whose latest move failed are counted, those that have moved since are not', async () => {
  await seedDays(
    service.db,
    ['T0', 'T1', 'T2', 'T3'].map((tenant) => ({ tenant, age: 1, count: 1 })),
  );
  expect((await countFailedTenants(service.db)).failed).toBe(0);
  await service.db.query(sql`update moves set state = 'failed' where id in ('mov_059', 'mov_058')`);
  expect((await countFailedTenants(service.db)).failed).toBe(2);
  for (const code of ['tenant_on_hold', 'not_due', 'days_held', 'upload_gone']) {
    await service.db.query(sql`update moves set error_code = ${code} where state = 'failed'`);
    expect((await countFailedTenants(service.db)).failed).toBe(0);
  }
});
