import type { FastifyRequest } from 'fastify';
import sql from 'sql-template-tag';
import { beforeAll, expect, test } from 'vitest';
import { blocksOf } from '../../test/one-server.ts';
import { useTestService } from '../../test/service.ts';
import { createLocalToken, createLog } from '../app.ts';
import { loadSettings } from '../config/settings.ts';
import type { Actor } from '../kernel/actor.ts';
import { createAudit } from './audit.ts';
import { listAuditEntries } from './audit-queries.ts';

const service = useTestService();
let admin: { id: string; name: string };
beforeAll(async () => {
  [admin] = (await service.call('GET', '/tokens')).json.data;
  await service.db.query(sql`
    insert into audit_log (at, token_id, token_name, action, target, tenant, after)
    select '2001-03-01T23:59:59.999999Z'::timestamptz + (n / 3) * interval '1 microsecond', 'tok_' || n % 2, 'ops',
      case n % 4 when 0 then 'endpoint.create' when 1 then 'endpoint.delete' else 'endpoints.x' end,
      'ep_' || n, case when n % 5 < 4 then 'T' || n % 5 end, json_build_object('n', n)
    from generate_series(0, 19) n`);
});

type Entry = { id: string; at: string; action: string; target: string; tenant: string | null };

async function list(query: string, token = service.adminToken) {
  const answer = await service.call('GET', `/audit?${query}`, { token });
  expect(answer.status, answer.text).toBe(200);
  return answer.json as { data: Entry[]; next_cursor: string | null };
}
const targets = async (query: string, token?: string) =>
  (await list(`from=2001-03-01&to=2001-03-02&${query}`, token)).data.map((entry) =>
    Number(entry.target.slice(3)),
  );

test.each([
  ['limit=0', '?limit'],
  ['limit=501', '?limit'],
  ['from=2001-03-01', '?to'],
  ['to=2001-03-01', '?from'],
  ['from=2001-03-02&to=2001-03-01', '?from'],
  ['from=2001-02-30&to=2001-03-01', '?from'],
  ['from=2001-03-01&to=2001-03-01T24:00:00Z', '?to'],
  ['action=endpoint', '?action'],
  ['action=End.', '?action'],
  ['actor=', '?actor'],
  ['q=', '?q'],
  ['q=%00', '?q'],
  [`q=${'a'.repeat(201)}`, '?q'],
  ['q=a&after=0', '?q'],
  ['token_id=tok_1', '?token_id'],
])('refuses ?%s', async (query, path) => {
  const answer = await service.call('GET', `/audit?${query}`);
  expect(answer.status).toBe(400);
  expect(answer.json.errors).toContainEqual(expect.objectContaining({ path }));
});

test('refuses a cursor of other filters and a tampered one', async () => {
  const { next_cursor } = await list('action=endpoint.&limit=2');
  const cursor = next_cursor ?? '';
  for (const query of [
    `action=endpoint.create&cursor=${cursor}`,
    `action=endpoint.&cursor=A${cursor}`,
  ]) {
    expect((await service.call('GET', `/audit?${query}`)).json.code).toBe('cursor_invalid');
  }
});

test('filters by actor, by action or its beginning, by tenant and by days, newest first', async () => {
  const all = Array.from({ length: 20 }, (_, n) => 19 - n);
  expect(await targets('')).toEqual(all);
  expect(await targets('actor=tok_1')).toEqual(all.filter((n) => n % 2 === 1));
  expect(await targets('action=endpoint.')).toEqual(all.filter((n) => n % 4 < 2));
  expect(await targets('action=endpoint.create')).toEqual(all.filter((n) => n % 4 === 0));
  expect(await targets('tenant=T3')).toEqual([18, 13, 8, 3]);
  expect(await targets('tenant=T3&actor=tok_0&action=endpoints.x')).toEqual([18]);
  expect((await list('from=2001-03-01&to=2001-03-01')).data.map(({ target }) => target)).toEqual([
    'ep_2',
    'ep_1',
    'ep_0',
  ]);
  expect((await list('from=2001-03-02&to=2001-03-02')).data).toHaveLength(17);
  expect((await list('from=2001-03-03&to=2999-12-31&action=endpoint.')).data).toEqual([]);
});

test('finds a text in the actor, the target, the tenant and the details, in any case', async () => {
  expect(await targets('q=EP_7')).toEqual([7]);
  expect(await targets('q=t3')).toEqual([18, 13, 8, 3]);
  expect(await targets('q=%3A%2012%7D&tenant=T2')).toEqual([12]);
  expect(await targets('q=OPS&action=endpoint.delete')).toEqual([17, 13, 9, 5, 1]);
  expect(await targets('q=%25')).toEqual([]);
  // The tests' server folds I as Turkish does, and its ı is no letter of what is stored.
  expect(await targets('q=ENDPOINT.DELETE&tenant=T3')).toEqual([13]);
  const { next_cursor } = await list('q=ops&limit=2');
  const other = await service.call('GET', `/audit?q=op&cursor=${next_cursor}`);
  expect(other.json.code).toBe('cursor_invalid');
});

test.each([1, 2, 3, 4, 7, 19, 20, 21])(
  'pages of %i hold every entry exactly once',
  async (limit) => {
    const seen = await service.all(`/audit?from=2001-03-01&to=2001-03-02&limit=${limit}`);
    const all = Array.from({ length: 20 }, (_, n) => `ep_${19 - n}`);
    expect(seen.map(({ target }) => target)).toEqual(all);
  },
);

test('a token limited to tenants sees only entries of those tenants', async () => {
  const { token } = await service.makeToken({ preset: 'admin', tenants: ['T1', 'T2'] });
  const seen = await targets('', token);
  expect(seen).toEqual([17, 16, 12, 11, 7, 6, 2, 1]);
  expect(await targets('tenant=T2', token)).toEqual([17, 12, 7, 2]);
  expect(await targets('tenant=T3', token)).toEqual([]);
  expect((await list('action=token.', token)).data).toMatchObject([{ tenants: ['T1', 'T2'] }]);
});

test('whoever is limited to tenants learns neither numbers nor places of entries, and pages all the same', async () => {
  const { token } = await service.makeToken({ preset: 'admin', tenants: ['T1', 'T2'] });
  const whole = (await list('limit=500')).data as (Entry & { place: number })[];
  const numbers = new Set(whole.flatMap(({ id, place }) => [id, String(place)]));
  const seen: Entry[] = [];
  for (let cursor = '', turn = 0; turn < 20; turn += 1) {
    const page = await list(`from=2001-03-01&to=2001-03-02&limit=3${cursor}`, token);
    seen.push(...page.data);
    if (page.next_cursor === null) break;
    const inside = Buffer.from(page.next_cursor, 'base64url').subarray(16).toString();
    expect(JSON.parse(inside).filter((part: string) => numbers.has(part))).toEqual([]);
    cursor = `&cursor=${page.next_cursor}`;
  }
  expect(seen.map(({ target }) => Number(target.slice(3)))).toEqual([17, 16, 12, 11, 7, 6, 2, 1]);
  expect(new Set(seen.map(({ id }) => id)).size).toBe(8);
  for (const entry of seen) {
    expect(entry).toMatchObject({
      id: expect.stringMatching(/^aud_[\w-]{22}$/),
      place: null,
      hash: null,
    });
  }

  // Oldest first, from the first entry on, and on with what comes later.
  const read = async (cursor: string) =>
    list(`after=0&limit=3&from=2001-03-01&to=2001-03-02${cursor}`, token);
  const forward: string[] = [];
  let next: string | null = null;
  for (let turn = 0; turn < 4; turn += 1) {
    const page = await read(next === null ? '' : `&cursor=${next}`);
    forward.push(...page.data.map(({ id }) => id));
    next = page.next_cursor;
  }
  expect(forward).toEqual(seen.map(({ id }) => id).reverse());
  expect(next).not.toBeNull();
  const refused = await service.call('GET', '/audit?after=1', { token });
  expect(refused.json.errors).toMatchObject([{ path: '?after' }]);
});

test('whoever is limited to tenants sees no maker of a token that it cannot list', async () => {
  const made = await service.makeToken({ name: 'lead', preset: 'admin', tenants: ['K1', 'K2'] });
  const { token } = made;
  const narrow = { name: 'own', preset: 'admin', tenants: ['K1'] };
  const own = (await service.call('POST', '/tokens', { token, body: narrow })).json;
  expect(own.creator).toEqual({ id: made.id, name: 'lead' });
  const creatorsFor = async (reader?: string) => {
    const { json } = await service.call('GET', '/tokens', reader ? { token: reader } : {});
    return Object.fromEntries(
      json.data
        .filter(({ name }: { name: string }) => name === 'lead' || name === 'own')
        .map((row: { name: string; creator: { name: string } | null }) => [
          row.name,
          row.creator?.name ?? null,
        ]),
    );
  };
  expect(await creatorsFor()).toEqual({ lead: admin.name, own: 'lead' });
  expect(await creatorsFor(token)).toEqual({ lead: null, own: 'lead' });
  expect(await creatorsFor(own.token)).toEqual({ own: null });
});

test('an act that concerns several tenants shows to the admins of each, without the others', async () => {
  const [one, other, foreign] = await Promise.all(
    [['M1'], ['M2'], ['F']].map((tenants) => service.makeToken({ preset: 'admin', tenants })),
  );
  const both = await service.makeToken({ name: 'both', preset: 'admin', tenants: ['M1', 'M2'] });
  await service.call('POST', '/session', { token: null, body: { token: both.token } });
  await service.call('POST', '/retention/run', { token: both.token, body: {} });
  const seenBy = async (token: string | undefined) =>
    (await list('limit=500', token)).data.filter(
      ({ action, target }) => target === both.id || /^(session|retention)[.]/.test(action),
    );
  const about = { name: 'both', scopes: ['admin'], expires_at: null };
  for (const [reader, tenant] of [
    [one, 'M1'],
    [other, 'M2'],
  ] as const) {
    const of = { tenant: null, tenants: [tenant] };
    expect(await seenBy(reader?.token)).toMatchObject([
      { action: 'retention.run', actor: { token_id: both.id }, ...of },
      { action: 'session.open', actor: { token_id: both.id }, ...of },
      { action: 'token.create', ...of, after: { ...about, tenants: [tenant] } },
    ]);
    expect((await list(`tenant=${tenant}&action=retention.run`)).data).toHaveLength(1);
  }
  expect((await list('tenant=M2', one?.token)).data).toEqual([]);
  expect(await seenBy(foreign?.token)).toEqual([]);
  const [whole] = (await list(`actor=${both.id}&limit=1`)).data;
  expect(whole).toMatchObject({ tenants: ['M1', 'M2'] });
});

test('making and revoking a token is told with who, from where, what it was, and no secret', async () => {
  const made = (
    await service.call('POST', '/tokens', {
      body: { name: 'ops', preset: 'pipeline', tenants: ['TX'] },
      headers: { 'user-agent': 'x'.repeat(300) },
    })
  ).json;
  const revoked = await service.call('DELETE', `/tokens/${made.id}`);
  const [revoke, create] = (await list('action=token.&tenant=TX')).data;
  const about = {
    name: 'ops',
    scopes: ['enrichment:write', 'incidents:write'],
    tenants: ['TX'],
    expires_at: null,
  };
  expect(create).toEqual({
    id: expect.stringMatching(/^\d+$/),
    at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
    actor: { kind: 'token', token_id: admin.id, name: admin.name },
    action: 'token.create',
    target: made.id,
    tenant: 'TX',
    tenants: ['TX'],
    request_id: expect.stringMatching(/^req_/),
    address: '127.0.0.1',
    user_agent: 'x'.repeat(200),
    before: null,
    after: about,
    place: expect.any(Number),
    hash: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  expect(revoke).toMatchObject({
    action: 'token.revoke',
    target: made.id,
    request_id: revoked.headers.get('x-request-id'),
    before: about,
    after: null,
  });
});

test('the first admin token and what is made on the machine itself stand in the log, without a token id', async () => {
  const settings = loadSettings({ DATABASE_URL: service.db.url, SVC_DATA_DIR: service.dataDir });
  const made = await createLocalToken(settings, createLog('silent'), {
    name: 'new admin',
    preset: 'admin',
  });
  const { data } = await list('action=token.create');
  expect(data[0]).toMatchObject({
    actor: { kind: 'none', token_id: null, name: 'this machine' },
    target: made.id,
    after: { name: 'new admin', scopes: ['admin'], tenants: null, expires_at: null },
    address: null,
  });
  expect(data.at(-1)).toMatchObject({
    actor: { token_id: null, name: 'first start' },
    target: admin.id,
  });
});

test('a refused change leaves no entry', async () => {
  const before = (await list('action=token.')).data.length;
  await service.call('DELETE', '/tokens/tok_nobody');
  await service.call('POST', '/tokens', { body: { name: 'x' } });
  expect((await list('action=token.')).data).toHaveLength(before);
});

test('what is not done in the end is not told', async () => {
  const { id } = await service.makeToken({ preset: 'pipeline' });
  const before = await list('action=token.');
  await service.db.pool.query(`
    create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$;
    create constraint trigger refuse after insert or update of revoked_at on access_tokens
      deferrable initially deferred for each row execute function refuse()`);
  const body = { name: 'x', preset: 'pipeline' };
  expect((await service.call('POST', '/tokens', { body })).status).toBe(500);
  expect((await service.call('DELETE', `/tokens/${id}`)).status).toBe(500);
  await service.db.pool.query('drop trigger refuse on access_tokens; drop function refuse()');
  expect(await list('action=token.')).toEqual(before);
});

test('what cannot be told is not done', async () => {
  const sessions = await service.db.query(sql`select token_id from sessions`);
  const { id } = await service.makeToken({ preset: 'pipeline' });
  const tokens = async () => (await service.call('GET', '/tokens')).text;
  const before = await tokens();
  await service.db.query(
    sql`alter table audit_log add constraint closed check (action like 'endpoint%') not valid`,
  );
  const body = { name: 'x', preset: 'pipeline' };
  expect((await service.call('POST', '/tokens', { body })).status).toBe(500);
  expect((await service.call('DELETE', `/tokens/${id}`)).status).toBe(500);
  const session = await service.call('POST', '/session', { body: { token: service.adminToken } });
  expect(session.status).toBe(500);
  expect(session.headers.get('set-cookie')).toBeNull();
  await service.db.query(sql`alter table audit_log drop constraint closed`);
  expect(await tokens()).toBe(before);
  expect(await service.db.query(sql`select token_id from sessions`)).toEqual(sessions);
});

test('no token, secret, cookie or code stands in the log, even when an entry hands one over', async () => {
  const made = await service.makeToken({ preset: 'admin' });
  const opened = await service.call('POST', '/session', { body: { token: made.token } });
  const cookie = opened.headers.get('set-cookie')?.split(/[=;]/)[1] ?? '';
  const code = (await service.createSignInLink())?.split('code=')[1] ?? '';
  await service.call('POST', '/session', { body: { code } });
  const actor: Actor = {
    tokenId: made.id,
    name: 'ops',
    scopes: ['admin'],
    tenants: null,
    expiresAt: null,
  };
  const request = { id: 'req_1', ip: '::1', headers: {} } as FastifyRequest;
  await createAudit()(service.db, {
    actor,
    request,
    action: 'endpoint.create',
    target: 'ep_x',
    tenant: null,
    before: { url: 'https://h/', was: made.token },
    after: { secret: 'whsec_c2VjcmV0', list: ['whsec_b3RoZXI=', { token: made.token }] },
  });
  const [entry] = (await list(`actor=${made.id}&action=endpoint.create`)).data;
  expect(entry).toMatchObject({
    before: { url: 'https://h/', was: '(secret)' },
    after: { list: ['(secret)', {}] },
  });
  const rows = JSON.stringify(
    await service.db.query(sql`select audit_log::text as row from audit_log`),
  );
  expect(cookie).toHaveLength(43);
  expect(code).toHaveLength(32);
  for (const secret of [made.token, service.adminToken, cookie, code, 'c2VjcmV0', 'b3RoZXI']) {
    expect(rows).not.toContain(secret);
  }
});

test('signing in is told with by what', async () => {
  const made = await service.makeToken({ preset: 'curator' });
  await service.call('POST', '/session', { token: null, body: { token: made.token } });
  const [byToken] = (await list(`actor=${made.id}`)).data;
  expect(byToken).toMatchObject({ action: 'session.open', after: { by: 'token' } });
  expect(byToken?.target).toMatch(/^ses_/);
  const code = (await service.createSignInLink())?.split('code=')[1];
  await service.call('POST', '/session', { token: null, body: { code } });
  const [byLink] = (await list(`actor=${admin.id}&action=session.open`)).data;
  expect(byLink).toMatchObject({ after: { by: 'link' } });
});

test('finds no text that an entry does not show, and none breaks the search', async () => {
  await service.db.query(sql`
    insert into audit_log (at, token_name, action, tenants, before, after) values
      ('2001-04-01', 'a', 'token.create', '{T1,T4}',
        '{"tenants":["T1","T4-hidden"],"url":"https://user:pass@a.example/in?key=hidden"}', '["hidden not"]'),
      ('2001-04-01', 'b', 'event_type.set', '{T1}', '"\\u0000 lone \\ud800"', '{"sample":"\\u0000"}')`);
  const { token } = await service.makeToken({ preset: 'admin', tenants: ['T1'] });
  const found = async (text: string, by?: string) =>
    (await list(`from=2001-04-01&to=2001-04-01&q=${encodeURIComponent(text)}`, by)).data.length;
  for (const by of [undefined, token]) {
    expect(await found('T4-hidden', by)).toBe(0);
    expect(await found('key=hidden', by)).toBe(0);
    expect(await found('pass', by)).toBe(0);
    expect(await found('https://a.example/in', by)).toBe(1);
    expect(await found('["hidden', by)).toBe(1);
    expect(await found('lone', by)).toBe(1);
  }
});

test('a page searches ten thousand entries for a text, and the next ones go on', async () => {
  // Past the chain, which would take a second for so many.
  await service.db.pool.query(`
    alter table audit_log disable trigger all;
    insert into audit_log (at, token_name, action, target, tenant)
    select '2001-05-01T00:00:00Z'::timestamptz + n * interval '1 microsecond', 'ops', 'a.b',
      case when n % 10000 = 0 then 'needle_' || n else 'hay' end, 'SEARCHED'
    from generate_series(0, 20999) n;
    alter table audit_log enable trigger all`);
  const limited = await service.makeToken({ preset: 'admin', tenants: ['SEARCHED'] });
  for (const token of [service.adminToken, limited.token]) {
    const days = 'from=2001-05-01&to=2001-05-01';
    const pages: Entry[][] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const more = cursor === '' ? '' : `&cursor=${cursor}`;
      const page = await list(`${days}&q=needle${more}`, token);
      pages.push(page.data);
      cursor = page.next_cursor;
    }
    expect(pages.map((page) => page.map(({ target }) => target))).toEqual([
      ['needle_20000'],
      ['needle_10000'],
      ['needle_0'],
    ]);
    expect(await service.all(`/audit?${days}&q=needle&limit=1`, token)).toHaveLength(3);
  }
});

test('a page of a tenant with few entries reads a few of the others, alone or with several tenants', async () => {
  await service.db.pool.query(`
    alter table audit_log disable trigger all;
    insert into audit_log (at, token_name, action, tenant, tenants)
    select '2001-06-01T00:00:00Z'::timestamptz + n * interval '1 microsecond', 'ops', 'a.b',
      case when n % 100 > 0 then case when n in (7, 8) then 'RARE' else 'USUAL' end end,
      case when n in (100, 200) then '{RARE,USUAL}'::text[] when n % 100 = 0 then '{USUAL}' end
    from generate_series(0, 29999) n;
    alter table audit_log enable trigger all;
    analyze audit_log`);
  const page = { after: null, until: null, limit: 3 };
  for (const filter of [
    { tenant: 'RARE', reach: null },
    { reach: ['RARE'] },
    { tenant: 'RARE', reach: ['RARE', 'NONE'] },
    { reach: ['NONE', 'RARE'] },
  ]) {
    let found: unknown[] = [];
    const blocks = await blocksOf(service.db, async (counted) => {
      found = (await listAuditEntries(counted, filter, page)).map(({ at }) => at.slice(-7));
    });
    expect(found, JSON.stringify(filter)).toEqual(['000200Z', '000100Z', '000008Z']);
    const read = Object.entries(blocks).filter(([name]) => name.startsWith('audit_log'));
    expect(
      read.reduce((sum, [, count]) => sum + count, 0),
      JSON.stringify(blocks),
    ).toBeLessThan(60);
  }
});
