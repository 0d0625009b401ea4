import sql from 'sql-template-tag';
import { beforeAll, describe, expect, test } from 'vitest';
import { useTestService } from '../../test/service.ts';
import { portalHeader } from './values.ts';

const service = useTestService({
  SVC_ALLOW_TARGETS: '127.0.0.0/8',
  SVC_PORTAL_ORIGINS: 'https://app.example, http://127.0.0.1:9',
});

const links = '/webhook/portal-links';
const endpoint = { url: 'http://127.0.0.1:9/in' };

async function makeLink(body: object = {}, token?: string) {
  const options = { body: { tenant: 'TX', ...body }, ...(token !== undefined && { token }) };
  const answer = await service.call('POST', links, options);
  expect(answer.status, answer.text).toBe(201);
  return { ...answer.json, code: String(answer.json.url).split('#/open?code=')[1] ?? '' } as {
    id: string;
    url: string;
    code: string;
    expires_at: string;
  };
}

const open = (code: string, headers: Record<string, string> = {}) =>
  service.call('POST', '/portal/session', { token: null, body: { code }, headers });

/** The headers of the calls of a portal that a link has opened. */
async function visit(body: object = {}, token?: string) {
  const link = await makeLink(body, token);
  const answer = await open(link.code);
  expect(answer.status, answer.text).toBe(200);
  const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? '';
  return { ...link, headers: { cookie, [portalHeader]: '1' } };
}

test('a session reads no views, not even those that are shared with its tenant', async () => {
  const { token } = await service.makeToken({ preset: 'admin', tenants: ['TX'] });
  const body = { address: '#/dlq?tenant=TX', shared: true };
  expect((await service.call('PUT', '/views/TX', { token, body })).status).toBe(200);
  const { json } = await callAs(await visit(), 'GET', '/views');
  expect(json).toEqual({ data: [], next_cursor: null });
});

type Visit = { headers: Record<string, string> };
const callAs = (by: Visit, method: string, path: string, body?: unknown) =>
  service.call(method, path, { token: null, headers: by.headers, body });
const codeOf = async (by: Visit) => (await callAs(by, 'GET', '/me')).json.code;

describe('a link', () => {
  test('opens a session of its tenant alone, behind a cookie that scripts cannot read', async () => {
    const { code, url } = await makeLink({ subject: 'jo' });
    expect(url).toBe(`${service.url}/portal#/open?code=${code}`);
    const answer = await open(code);
    expect(answer.json).toMatchObject({
      name: 'portal of TX: jo',
      scopes: ['webhooks:manage'],
      tenants: ['TX'],
    });
    expect(answer.headers.get('set-cookie')).toMatch(
      /^svc_portal=\w{43}; HttpOnly; SameSite=Strict; Path=\/; Max-Age=3[56]\d\d$/,
    );
  });

  test('opens once, also when many open it at the same time', async () => {
    const { code } = await makeLink();
    const answers = await Promise.all(Array.from({ length: 10 }, () => open(code)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    const refused = answers.filter(({ status }) => status !== 200);
    expect(new Set(refused.map(({ json }) => json.code))).toEqual(new Set(['portal_link_invalid']));
  });

  test.each([
    ['was revoked', (id: string) => service.call('DELETE', `${links}/${id}`)],
    ['has expired', (id: string) => expire(id)],
  ])('that %s opens nothing, and what it opened before ends', async (_name, end) => {
    const unopened = await makeLink();
    const opened = await visit();
    for (const { id } of [unopened, opened]) await end(id);
    expect((await open(unopened.code)).json.code).toBe('portal_link_invalid');
    expect(await codeOf(opened)).toBe('portal_ended');
    const { data } = (await service.call('GET', `${links}?tenant=TX`)).json;
    const states = data.filter(({ id }: { id: string }) => [unopened.id, opened.id].includes(id));
    expect(states.map(({ state }: { state: string }) => state)).toEqual(['ended', 'ended']);
  });

  test('ends with the token that made it, and lasts no longer', async () => {
    const soon = new Date(Date.now() + 600_000).toISOString();
    const request = { scopes: ['webhooks:manage'], expires_at: soon };
    const maker = await service.makeToken(request);
    const opened = await visit({}, maker.token);
    expect(Date.parse(opened.expires_at)).toBe(Date.parse(soon));
    expect(await codeOf(opened)).toBe(undefined);
    const unopened = await makeLink({}, maker.token);
    await service.call('DELETE', `/tokens/${maker.id}`);
    expect(await codeOf(opened)).toBe('portal_ended');
    expect((await open(unopened.code)).json.code).toBe('portal_link_invalid');
  });

  test.each([
    ['is shut out', sql`update access_tokens set revoked_at = now() where id = 'usr_portal'`],
    [
      'may do less',
      sql`update access_tokens set scopes = '{incidents:read}' where id = 'usr_portal'`,
    ],
    ['reaches others', sql`update access_tokens set tenants = '{CA}' where id = 'usr_portal'`],
  ])('ends when the person who made it, or its token, %s', async (_what, change) => {
    const { db } = service;
    await db.query(sql`delete from portal_links where token_id = 'usr_portal'`);
    await db.query(sql`update access_tokens set person_id = null where person_id = 'usr_portal'`);
    await db.query(sql`delete from access_tokens where id = 'usr_portal'`);
    await db.query(sql`
      insert into access_tokens (id, hash, name, scopes, tenants, issuer, subject)
      values ('usr_portal', sha256('portal'), 'Ada', '{webhooks:manage}', '{TX}', 'https://id.example', 'ada')`);
    const maker = await service.makeToken({ scopes: ['webhooks:manage'], tenants: ['TX'] });
    await db.query(sql`
      update access_tokens set person_id = 'usr_portal' where id = ${maker.id}`);
    const byToken = await visit({}, maker.token);
    const byPerson = await visit({}, maker.token);
    await db.query(sql`
      update portal_links set token_id = 'usr_portal' where id = ${byPerson.id}`);
    expect([await codeOf(byToken), await codeOf(byPerson)]).toEqual([undefined, undefined]);
    await db.query(change);
    expect([await codeOf(byToken), await codeOf(byPerson)]).toEqual([
      'portal_ended',
      'portal_ended',
    ]);
  });

  test('is left by whoever opened it, and then is over', async () => {
    const opened = await visit();
    const answer = await callAs(opened, 'DELETE', '/portal/session');
    expect(answer.status).toBe(204);
    expect(answer.headers.get('set-cookie')).toContain('Max-Age=0');
    expect(await codeOf(opened)).toBe('portal_ended');
  });

  test('is no secret of the database, nor its session', async () => {
    const { code, headers } = await visit();
    const rows = await service.db.query(sql`select portal_links::text from portal_links`);
    expect(JSON.stringify(rows)).not.toContain(code);
    expect(JSON.stringify(rows)).not.toContain(headers.cookie.split('=')[1]);
  });

  test('is made and ended by those alone who reach its tenant, and never in the portal', async () => {
    const { token } = await service.makeToken({ scopes: ['webhooks:manage'], tenants: ['CA'] });
    const { id } = await makeLink();
    const made = await service.call('POST', links, { token, body: { tenant: 'TX' } });
    expect(made.json).toMatchObject({ status: 400, errors: [{ path: '/tenant' }] });
    const ended = await service.call('DELETE', `${links}/${id}`, { token });
    expect(ended.json.code).toBe('portal_link_not_found');
    const opened = await visit();
    for (const answer of [
      await callAs(opened, 'POST', links, { tenant: 'TX' }),
      await callAs(opened, 'GET', links),
      await callAs(opened, 'DELETE', `${links}/${opened.id}`),
    ]) {
      expect(answer.json).toMatchObject({ status: 403, code: 'scope_missing' });
    }
  });

  test('is told in the audit log by its id and its tenant, as is what is done by it', async () => {
    const opened = await visit({ subject: 'jo' });
    const made = await callAs(opened, 'POST', '/webhook/endpoints', { tenant: 'TX', ...endpoint });
    expect(made.status, made.text).toBe(201);
    await service.call('DELETE', `${links}/${opened.id}`);
    const { data } = (await service.call('GET', '/audit?tenant=TX&limit=4')).json;
    const told = data.map((entry: Record<string, unknown>) => [entry.action, entry.tenant]);
    expect(told).toEqual([
      ['portal_link.revoke', 'TX'],
      ['endpoint.create', 'TX'],
      ['portal_link.open', 'TX'],
      ['portal_link.create', 'TX'],
    ]);
    const by = { kind: 'token', token_id: opened.id, name: 'portal of TX: jo' };
    expect(data[1].actor).toEqual(by);
    expect(data[2]).toMatchObject({ actor: by, target: opened.id });
    expect(data[3]).toMatchObject({ target: opened.id, after: { tenant: 'TX', subject: 'jo' } });
  });
});

async function expire(id: string): Promise<void> {
  await service.db.query(
    sql`update portal_links set expires_at = now() - interval '1 second' where id = ${id}`,
  );
}

describe('whoever is in the portal', () => {
  let theirs: string;
  let own: string;
  let reader: Visit;
  let manager: Visit;
  beforeAll(async () => {
    const idOf = async (tenant: string) =>
      (await service.call('POST', '/webhook/endpoints', { body: { tenant, ...endpoint } })).json.id;
    [theirs, own] = [await idOf('CA'), await idOf('FL')];
    reader = await visit({ tenant: 'FL', scope: 'webhooks:read' });
    manager = await visit({ tenant: 'FL' });
  });

  test('sees the webhooks of its tenant, and none of another', async () => {
    const { data } = (await callAs(reader, 'GET', '/webhook/endpoints')).json;
    expect(data.map(({ id }: { id: string }) => id)).toEqual([own]);
    expect((await callAs(reader, 'GET', '/webhook/endpoints?tenant=CA')).json.data).toEqual([]);
    for (const by of [reader, manager]) {
      const answer = await callAs(by, 'GET', `/webhook/endpoints/${theirs}`);
      expect(answer.json.code).toBe('endpoint_not_found');
    }
    const changed = await callAs(manager, 'DELETE', `/webhook/endpoints/${theirs}`);
    expect(changed.json.code).toBe('endpoint_not_found');
    for (const path of ['/webhook/deliveries', '/incidents', '/webhook/event-types']) {
      expect((await callAs(reader, 'GET', path)).status, path).toBe(200);
    }
  });

  test('learns the names of nobody but of its own', async () => {
    const { token } = await service.makeToken({ scopes: ['webhooks:read'], tenants: ['FL'] });
    const change = (enabled: boolean) => ({ body: { enabled } });
    const path = `/webhook/endpoints/${own}`;
    const since = new Date(Date.now() - 3_600_000).toISOString();
    const secret = 'first admin';
    expect((await service.call('PATCH', path, change(false))).json.disabled_by).toBe(secret);
    const [report] = [{ tenant: 'FL', type: 'x.y', data: { created_by: secret } }];
    const { deliveries, id } = (await service.call('POST', '/incidents', { body: report })).json;
    const replay = await service.call('POST', `${path}/replay`, { body: { since, only: 'all' } });
    const retry = await service.call('POST', '/webhook/dlq/retry', {
      body: { tenant: 'FL', status: 'abandoned' },
    });
    expect([replay.json.created_by, retry.status]).toEqual([secret, 202]);
    const paths = [
      ...[path, `${path}?include=story`, '/webhook/endpoints?include=hours', '/overview', '/jobs'],
      ...[`/webhook/dlq/${deliveries[0].id}`, `/webhook/replays/${replay.json.id}`],
      ...[`/jobs/${replay.json.id}`, `/webhook/dlq/retries/${retry.json.id}`],
    ];
    for (const asked of paths) {
      for (const answer of [
        await callAs(reader, 'GET', asked),
        await service.call('GET', asked, { token }),
      ]) {
        const told = JSON.stringify({ ...answer.json, payload: null, body: null });
        expect(told, asked).not.toContain(secret);
      }
    }
    expect((await callAs(reader, 'GET', path)).json.disabled_by).toBe('an operator');
    expect((await callAs(reader, 'GET', `/incidents/${id}`)).json.data).toEqual(report.data);
    await callAs(manager, 'PATCH', path, { enabled: true });
    await callAs(manager, 'PATCH', path, { enabled: false });
    expect((await callAs(reader, 'GET', path)).json.disabled_by).toBe('portal of FL');
    await callAs(manager, 'PATCH', path, { enabled: true });
  });

  test('ends a replay that it began, where it may replay', async () => {
    const path = `/webhook/endpoints/${own}/replay`;
    // Replays of earlier tests may still be under way: each covers what was reported before it.
    const body = { since: new Date().toISOString(), only: 'all', rate: 1 };
    for (let n = 0; n < 5; n += 1) {
      await callAs(manager, 'POST', '/incidents', { tenant: 'FL', type: 'x.y', data: {} });
    }
    const begun = await callAs(manager, 'POST', path, body);
    expect(begun.status, begun.text).toBe(202);
    const cancel = `/jobs/${begun.json.id}/cancel`;
    expect((await callAs(reader, 'POST', cancel)).json.code).toBe('job_not_found');
    expect((await callAs(manager, 'POST', cancel)).json).toMatchObject({ state: 'cancelled' });
  });

  test('is not taken for it where a page of another site asks', async () => {
    const { cookie } = manager.headers;
    const alone = await service.call('GET', '/me', {
      token: null,
      headers: { cookie: cookie ?? '' },
    });
    expect(alone.json.code).toBe('token_missing');
    for (const from of [
      { origin: 'https://app.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
    ] as Record<string, string>[]) {
      const headers = { ...manager.headers, ...from };
      const answer = await service.call('GET', '/me', { token: null, headers });
      expect(answer.json.code, JSON.stringify(from)).toBe('cross_site_refused');
      const { code } = await makeLink();
      expect((await open(code, from)).json.code).toBe('cross_site_refused');
    }
  });

  test('is told apart from an operator who is signed in with the same browser', async () => {
    const operator = await service.signIn({ token: service.adminToken });
    const cookie = `${operator.headers.cookie}; ${manager.headers.cookie}`;
    const me = async (headers: Record<string, string>) =>
      (await service.call('GET', '/me', { token: null, headers })).json.scopes;
    expect(await me({ cookie })).toEqual(['admin']);
    expect(await me({ cookie, [portalHeader]: '1' })).toEqual(['webhooks:manage']);
    const ended = await me({ cookie: operator.headers.cookie, [portalHeader]: '1' });
    expect(ended).toBe(undefined);
  });
});

test('the portal may be framed by the origins that are set, and the console by none', async () => {
  const policyOf = async (path: string) => {
    const answer = await fetch(service.url + path);
    expect(answer.status).toBe(200);
    return answer.headers.get('content-security-policy');
  };
  expect(await policyOf('/portal')).toContain(
    'frame-ancestors https://app.example http://127.0.0.1:9',
  );
  for (const path of ['/', '/index.html']) {
    expect(await policyOf(path)).toContain("frame-ancestors 'none'");
  }
});

describe('behind https', () => {
  const framing = useTestService({
    SVC_PUBLIC_URL: 'https://svc.example',
    SVC_PORTAL_ORIGINS: 'https://app.example',
  });
  const closed = useTestService({ SVC_PUBLIC_URL: 'https://svc.example' });
  const cookieOf = async (at: typeof framing) => {
    const { json } = await at.call('POST', links, { body: { tenant: 'TX', seconds: 600 } });
    expect(json.url).toMatch(/^https:\/\/svc\.example\/portal#\/open\?code=\w{43}$/);
    const body = { code: json.url.split('code=')[1] };
    return (await at.call('POST', '/portal/session', { token: null, body })).headers.get(
      'set-cookie',
    );
  };

  test('the cookie goes along from a frame, kept apart for each site that has one', async () => {
    expect(await cookieOf(framing)).toMatch(
      /^__Host-svc_portal=\w{43}; HttpOnly; SameSite=None; Partitioned; Path=\/; Max-Age=[56]\d\d; Secure$/,
    );
  });

  test('without origins that may frame it the cookie stays on our site', async () => {
    expect(await cookieOf(closed)).toMatch(/SameSite=Strict; Path=\/; Max-Age=[56]\d\d; Secure$/);
    const page = await fetch(`${closed.url}/portal`);
    expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  });
});
