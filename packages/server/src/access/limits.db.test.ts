import type { FastifyRequest } from 'fastify';
import sql from 'sql-template-tag';
import { beforeEach, expect, test } from 'vitest';
import { useTestService } from '../../test/service.ts';
import { createLog } from '../app.ts';
import type { Actor } from '../kernel/actor.ts';
import { AppError } from '../kernel/errors.ts';
import { newAccessToken } from '../kernel/ids.ts';
import type { Queryable } from '../platform/postgres/database.ts';
import { createRateLimit, createSignInGuard, failuresPerMinute } from './limits.ts';

const service = useTestService({ SVC_RATE_LIMIT: '100' });
beforeEach(async () => {
  await service.db.query(sql`delete from audit_log where action = 'session.refuse'`);
  await service.db.query(sql`delete from limit_use`);
});

const refusals = () =>
  service.db.query<{ address: string | null; attempts: number; code: string }>(sql`
    select address, after ->> 'code' as code, (after ->> 'attempts')::int as attempts from audit_log
    where action = 'session.refuse' order by id`);

let nowMillis = 0;
/** Moves the time of processes and database. */
const pass = async (millis: number) => {
  nowMillis += millis;
  await service.db.query(
    sql`update limit_use set at = at - make_interval(secs => ${millis / 1000}::float8)`,
  );
};
const newGuard = () =>
  createSignInGuard(service.db, { clock: () => nowMillis, log: createLog('silent') });
const from = (ip: string) =>
  ({ id: 'req_x', ip, headers: { 'user-agent': 'test' }, socket: {} }) as unknown as FastifyRequest;
const refuse = async () => {
  throw new AppError('token_unknown');
};
const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'in',
    (error: AppError) => error.code,
  );
/**
 * Fails again and again until the guard refuses, which it then does until `nowMillis` moves. A place may come back
 * meanwhile, by the database's own clock.
 */
async function untilLimited(work: () => Promise<unknown>): Promise<number> {
  for (let failed = 0; ; failed += 1) {
    const code = await codeOf(work());
    if (code === 'sign_in_limited') return failed;
    expect(code).toBe('token_unknown');
  }
}

test('a token that may not do what it asks for is limited like any other', async () => {
  const { token } = await service.makeToken({ preset: 'pipeline' });
  const call = () => service.call('GET', '/tokens', { token });
  let answer = await call();
  for (; answer.status === 403; answer = await call());
  expect(answer.status).toBe(429);
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
});

test('wrong codes and tokens end in 429, which leaves sessions and tokens alone', async () => {
  const signIn = (body: object) => service.call('POST', '/session', { token: null, body });
  const { headers } = await service.signIn();
  const confirm = (token: string) =>
    service.call('POST', '/session/confirm', { token: null, headers, body: { token } });
  const shutOut = async (attempt: () => ReturnType<typeof signIn>) => {
    const answers = await Promise.all(Array.from({ length: 2 * failuresPerMinute }, attempt));
    const limited = answers.filter(({ status }) => status !== 401);
    expect(limited.length).toBeGreaterThan(0);
    for (const answer of limited) {
      expect(answer.json).toMatchObject({ status: 429, code: 'sign_in_limited' });
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    }
  };
  await shutOut(() => signIn({ code: 'wrong' }));
  await shutOut(() => signIn({ token: newAccessToken() }));
  // Who may not sign in for now can still confirm the session there is.
  expect((await service.signIn()).answer.json.code).toBe('sign_in_limited');
  expect((await confirm(service.adminToken)).status).toBe(200);
  await shutOut(() => confirm(newAccessToken()));
  expect((await service.call('GET', '/me', { token: null, headers })).status).toBe(200);
  expect((await service.call('GET', '/me')).status).toBe(200);
  expect(await refusals()).toMatchObject([{ address: '127.0.0.1', attempts: 1 }]);
  const [entry] = (await service.call('GET', '/audit?action=session.refuse')).json.data;
  expect(entry).toMatchObject({ actor: { token_id: null, name: 'nobody' }, user_agent: 'node' });
});

test('an address that is shut out keeps nobody from confirming a session, nor a session from signing in', async () => {
  const guard = newGuard();
  const shutOut = (session?: string) =>
    untilLimited(() => guard.attempt(from('10.0.1.1'), refuse, session));
  const enter = (session?: string) =>
    codeOf(guard.attempt(from('10.0.1.1'), async () => 'in', session));
  await shutOut('a');
  expect(await enter('a')).toBe('sign_in_limited');
  expect(await enter('b')).toBe('in');
  expect(await enter()).toBe('in');
  await shutOut();
  expect(await enter()).toBe('sign_in_limited');
  expect(await enter('b')).toBe('in');
  await guard.flush();
});

test('one address’s failures are nobody else’s, and a place comes back with time', async () => {
  const guard = newGuard();
  expect(await untilLimited(() => guard.attempt(from('10.0.0.1'), refuse))).toBeGreaterThanOrEqual(
    failuresPerMinute,
  );
  const enter = async () => 'in';
  expect(await codeOf(guard.attempt(from('10.0.0.1'), enter))).toBe('sign_in_limited');
  expect(await codeOf(guard.attempt(from('10.0.0.2'), enter))).toBe('in');
  await pass(60_000 / failuresPerMinute);
  expect(await codeOf(guard.attempt(from('10.0.0.1'), enter))).toBe('in');
  await guard.flush();
});

test('who signs in rightly uses up nothing, nor does a database that is away', async () => {
  const guard = newGuard();
  for (let n = 0; n < 3 * failuresPerMinute; n += 1) {
    expect(await codeOf(guard.attempt(from('10.0.0.3'), async () => 'in'))).toBe('in');
    const away = async () => {
      throw new AppError('database_unavailable');
    };
    expect(await codeOf(guard.attempt(from('10.0.0.3'), away))).toBe('database_unavailable');
  }
});

test('failures count wherever they happen, and however many come at once', async () => {
  const startedAt = performance.now();
  const guards = [newGuard(), newGuard(), newGuard()];
  const codes = await Promise.all(
    guards.flatMap((guard) =>
      Array.from({ length: failuresPerMinute }, () =>
        codeOf(guard.attempt(from('10.0.0.4'), refuse)),
      ),
    ),
  );
  const cameBack = ((performance.now() - startedAt) / 60_000) * failuresPerMinute;
  const failed = codes.filter((code) => code === 'token_unknown').length;
  expect(failed).toBeGreaterThanOrEqual(failuresPerMinute);
  expect(failed).toBeLessThanOrEqual(failuresPerMinute + cameBack);
  for (const guard of guards) await guard.flush();
});

test('a host cannot escape through the addresses of its IPv6 network', async () => {
  const guard = newGuard();
  let n = 0;
  await untilLimited(() => guard.attempt(from(`2001:db8:1:2::${n++}`), refuse));
  const next = (ip: string) => codeOf(guard.attempt(from(ip), refuse));
  expect(await next('2001:db8:1:2:ffff::1')).toBe('sign_in_limited');
  expect(await next('2001:db8:1:3::1')).toBe('token_unknown');
  await guard.flush();
});

test('the log has the first failure of an address at once, and the number of the others later', async () => {
  const guard = newGuard();
  for (let n = 0; n < failuresPerMinute + 5; n += 1) {
    await codeOf(guard.attempt(from('10.0.1.1'), refuse));
  }
  expect(await refusals()).toEqual([{ address: '10.0.1.1', code: 'token_unknown', attempts: 1 }]);
  await pass(61_000);
  await codeOf(guard.attempt(from('10.0.1.2'), refuse));
  expect(await refusals()).toEqual([
    { address: '10.0.1.1', code: 'token_unknown', attempts: 1 },
    { address: '10.0.1.1', code: 'sign_in_limited', attempts: failuresPerMinute + 4 },
    { address: '10.0.1.2', code: 'token_unknown', attempts: 1 },
  ]);
  await guard.flush();
});

test('failures from very many addresses are a hundred entries and a sum', async () => {
  const guard = newGuard();
  for (let n = 0; n < 150; n += 1) await codeOf(guard.attempt(from(`10.1.0.${n}`), refuse));
  await guard.flush();
  const told = await refusals();
  expect(told).toHaveLength(101);
  expect(told.at(-1)).toEqual({ address: null, code: null, attempts: 50 });
});

test('signing out is told with who it was', async () => {
  const made = await service.makeToken({ preset: 'curator', tenants: ['TX'] });
  const opened = await newSession(made.token);
  await service.call('DELETE', '/session', { token: null, headers: opened });
  const { data } = (await service.call('GET', `/audit?actor=${made.id}`)).json;
  expect(data[0]).toMatchObject({ action: 'session.close', tenant: 'TX' });
  const again = await service.call('DELETE', '/session', { token: null, headers: opened });
  expect(again.status).toBe(204);
  const after = (await service.call('GET', `/audit?actor=${made.id}`)).json.data;
  expect(after).toHaveLength(data.length);
});

const actor = (tokenId: string): Actor => ({
  tokenId,
  name: tokenId,
  scopes: [],
  tenants: null,
  expiresAt: null,
});
const newLimit = (perMinute: number, db: Queryable = service.db) =>
  createRateLimit(
    db,
    { perToken: perMinute, perTenants: 0 },
    { clock: () => nowMillis, log: createLog('silent') },
  );
const noAnswer = { setHeader() {} };
/** How many of so many requests are let through. */
const admitted = async (limit: ReturnType<typeof newLimit>, token: string, requests: number) => {
  const answers = Array.from({ length: requests }, () =>
    codeOf((async () => limit.admit(actor(token), noAnswer))()),
  );
  return (await Promise.all(answers)).filter((code) => code === 'in').length;
};

test('a minute’s share passes at once, then refills evenly', async () => {
  // A place comes back in 12 s: the database's own clock does not bring one while the test runs.
  const limit = newLimit(5);
  expect(await admitted(limit, 'a', 6)).toBe(5);
  const refused = (async () => limit.admit(actor('a'), noAnswer))();
  await expect(refused).rejects.toMatchObject({ code: 'rate_limited', retryAfterSeconds: 12 });
  await limit.flush();
  await pass(12_000);
  expect(await admitted(limit, 'a', 2)).toBe(1);
});

test('one token’s use does not touch another’s share, and 0 means no limit', async () => {
  const limit = newLimit(1);
  expect(await admitted(limit, 'a', 2)).toBe(1);
  expect(await admitted(limit, 'b', 2)).toBe(1);
  expect(await admitted(newLimit(0), 'a', 1000)).toBe(1000);
});

test('tokens that are limited to the same tenants share a limit of their own, however many they are', async () => {
  const limit = createRateLimit(
    service.db,
    { perToken: 3, perTenants: 5 },
    { clock: () => nowMillis, log: createLog('silent') },
  );
  const tenants = ['T1', 'T2'];
  const through = async (tokenId: string, of: string[] | null, requests: number) => {
    let passed = 0;
    for (let n = 0; n < requests; n += 1) {
      const limited = { ...actor(tokenId), tenants: of };
      const code = await codeOf((async () => limit.admit(limited, noAnswer))());
      if (code === 'in') passed += 1;
    }
    return passed;
  };
  expect(await through('t1', tenants, 4)).toBe(3);
  expect(await through('t2', tenants.toReversed(), 4)).toBe(2);
  // Whoever is limited to stores in them is not told how many requests the others have left.
  expect(await through('t5', ['T1/S', 'T2/S', 'T1/R'], 1)).toBe(0);
  const said = new Map<string, string>();
  const answer = { setHeader: (name: string, value: string) => said.set(name, value) };
  await limit.admit({ ...actor('t6'), tenants: ['T3/S'] }, answer);
  expect(said.get('ratelimit')).toMatch(/^"token";r=2;t=\d+$/);
  await limit.admit({ ...actor('t7'), tenants: ['T3'] }, answer);
  expect(said.get('ratelimit')).toMatch(/"tenants";r=3;/);
  expect(await through('t3', ['T1'], 4)).toBe(3);
  const ofTenants = createRateLimit(
    service.db,
    { perToken: 0, perTenants: 1 },
    { clock: () => nowMillis, log: createLog('silent') },
  );
  const ofStore = () => ofTenants.admit({ ...actor('t8'), tenants: ['T4/S'] }, noAnswer);
  expect([await codeOf(ofStore()), await codeOf(ofStore())]).toEqual(['in', 'rate_limited']);
  expect(await through('t4', null, 4)).toBe(3);
});

test('two processes let a token through no more often than one would, and 2 %', async () => {
  const startedAt = performance.now();
  const limits = [newLimit(300), newLimit(300)];
  const counts = await Promise.all(limits.map((limit) => admitted(limit, 'c', 300)));
  const sum = counts.reduce((all, count) => all + count);
  const refilled = Math.ceil(((performance.now() - startedAt) / 60_000) * 300);
  expect(sum).toBeGreaterThanOrEqual(300);
  expect(sum).toBeLessThanOrEqual(300 + 6 + refilled);
});

test('a process that has heard nothing learns of the others’ use within 2 % of the limit', async () => {
  const [busy, idle] = [newLimit(100), newLimit(100)];
  const startedAt = performance.now();
  expect(await admitted(busy, 'd', 200)).toBeGreaterThanOrEqual(100);
  await busy.flush();
  const refilled = Math.ceil(((performance.now() - startedAt) / 60_000) * 100);
  expect(await admitted(idle, 'd', 200)).toBeLessThanOrEqual(2 + refilled);
});

test('the database is asked once for a hundredth of the limit, and not for each request', async () => {
  let statements = 0;
  const counting: Queryable = {
    query(statement, options) {
      statements += 1;
      return service.db.query(statement, options);
    },
  };
  const limit = newLimit(10_000, counting);
  const startedAt = performance.now();
  expect(await admitted(limit, 'e', 2000)).toBe(2000);
  expect(statements).toBeLessThanOrEqual(2000 / 100 + 2);
  await limit.flush();
  const [row] = await service.db.query<{ used: number }>(
    sql`select used from limit_use where subject = 'e'`,
  );
  // What was used comes back within a minute, all the while.
  const refilled = ((performance.now() - startedAt) / 60_000) * 10_000;
  expect(row?.used).toBeGreaterThan(1900 - refilled);
});

test('a process whose table cannot be written keeps the limit by itself', async () => {
  const broken: Queryable = { query: () => Promise.reject(new AppError('database_full')) };
  expect(await admitted(newLimit(100, broken), 'f', 200)).toBe(100);
});

/** A session made in the database: the address of the tests has used up its share. */
async function newSession(token: string): Promise<Record<string, string>> {
  const secret = 'x'.repeat(43);
  await service.db.query(sql`
    insert into sessions (hash, token_id, expires_at)
    select sha256(${secret}::bytea), id, now() + interval '1 hour' from access_tokens
    where hash = sha256(${token}::bytea)`);
  return { cookie: `svc_session=${secret}` };
}
