import { rm } from 'node:fs/promises';
import sql from 'sql-template-tag';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startForger } from '../../test/identity-forger.ts';
import { identitySettings, openBrowser } from '../../test/person.ts';
import { type Answer, type CallOptions, startTestService } from '../../test/service.ts';
import { use } from '../../test/use.ts';
import { apiContract, type RouteContract } from '../contract.ts';
import { newAccessToken } from '../kernel/ids.ts';
import {
  includesScope,
  type Preset,
  presets,
  type Scope,
  scopes,
  storeScopes,
} from '../kernel/values.ts';
import { type Ask, asksOf, blind, filtersOf, withStore } from './testing/asks.ts';
import { deliveries, ghostOf, type MatrixTenant, seedTenant } from './testing/matrix-world.ts';
import { portalHeaders, routeCalls } from './testing/route-calls.ts';
import {
  type ForeignTenant,
  type RouteRule,
  routeRules,
  storeRoutes,
} from './testing/route-rules.ts';

const routes = Object.values<RouteContract>(apiContract);
const named = (these: readonly RouteContract[]) =>
  these.map((route) => [`${route.method} ${route.path}`, route] as const);

function ruleOf({ id }: Pick<RouteContract, 'id'>): RouteRule {
  const rule = routeRules[id];
  if (rule !== undefined) return rule;
  throw new Error(
    `No rule says who may call ${id}: add its line to access/testing/route-rules.ts, and to route-calls.ts if it takes a body`,
  );
}

// Without a drainer, so that deliveries stay as they are.
const service = use(
  async () => {
    const identity = await startForger();
    const made = await startTestService({
      ...identitySettings(identity.issuer),
      SVC_PUBLIC_URL: 'http://svcctl.example',
      SVC_ROLES: 'api,retention,exports',
      SVC_RATE_LIMIT: '0',
      SVC_ALLOW_TARGETS: '127.0.0.0/8',
      SVC_EXPORT_ROOTS: deliveries,
    });
    return { ...made, identity };
  },
  async (made) => {
    await made.stop();
    await made.identity.stop();
  },
);
afterAll(() => rm(deliveries, { recursive: true, force: true }));

describe('the rules', () => {
  test('name every route, and no other', async () => {
    const { json } = await service.call('GET', '/openapi.json', { token: null });
    const operations = Object.values<Record<string, { operationId: string }>>(json.paths)
      .flatMap((path) => Object.values(path))
      .map(({ operationId }) => operationId);
    const ids = Object.keys(routeRules);
    const hint = 'see access/testing/route-rules.ts';
    expect(
      operations.filter((id) => !ids.includes(id)),
      `routes without a rule; ${hint}`,
    ).toEqual([]);
    expect(
      ids.filter((id) => !operations.includes(id)),
      `rules without a route; ${hint}`,
    ).toEqual([]);
    expect(operations.toSorted()).toEqual(routes.map(({ id }) => id).toSorted());
    const called = Object.keys(routeCalls);
    expect(
      called.filter((id) => !ids.includes(id)),
      'calls without a route',
    ).toEqual([]);
  });

  test('what changes something or shows a secret, and asks for no confirmation, says why not', () => {
    const showsSecret = ({ responses }: RouteContract) =>
      /"(secret|token)":/.test(JSON.stringify(Object.values(responses).map((r) => r.schema)));
    const unsaid = routes
      .filter((route) => route.method !== 'GET' || showsSecret(route))
      .filter((route) => ruleOf(route).session === 'reads');
    // These read at length, or take their question as a body.
    const reading = [
      'verifyAuditLog',
      'previewTemplate',
      'previewExport',
      'exportCsv',
      'exportNdjson',
      'exportParquet',
      'planImport',
      'startVerification',
      'planErasure',
      'testFilter',
    ];
    expect(unsaid.map(({ id }) => id).toSorted()).toEqual(reading.toSorted());
  });
});

/** A request with every fault that a route can find, so that only who calls decides how far it comes. */
async function callWrongly(route: RouteContract, method: string, options: CallOptions) {
  const path = route.path.replace(/:\w+/, 'nothing');
  const takesBody = method !== 'GET' && method !== 'HEAD';
  const body = takesBody ? { body: '{', headers: { 'content-type': 'text/plain' } } : {};
  const headers = { ...('headers' in body ? body.headers : {}), ...options.headers };
  const answer = await service.call(method, `${path}?nonsense=1`, { ...body, ...options, headers });
  return outcomeOf(answer);
}

/** How far a request came: `let in` to the checks of its input, or why not. */
function outcomeOf({ status, json }: Answer): string {
  if (status === 400 && json?.code === 'request_invalid') return 'let in';
  const scope = /^This token lacks the scope (\S+)\./.exec(json?.detail ?? '')?.[1];
  return [status, json?.code, scope].filter((part) => part !== undefined).join(' ');
}

type Caller = {
  readonly options: CallOptions;
  /** Why the caller is refused whatever it asks for. */
  readonly refused?: string;
  readonly scopes?: readonly Scope[];
  readonly session?: 'confirmed' | 'unconfirmed';
  readonly isCrossSite?: true;
  readonly isOfStore?: true;
};

async function makeCallers(): Promise<Record<string, Caller>> {
  const make = async (request: Record<string, unknown>) => service.makeToken(request);
  const tokenOf = async (request: Record<string, unknown>) => (await make(request)).token;
  const session = async (token: string) => (await service.signIn({ token })).headers;
  const [revoked, expired] = [await make({ preset: 'admin' }), await make({ preset: 'admin' })];
  await service.call('DELETE', `/tokens/${revoked.id}`);
  await service.db.query(
    sql`update access_tokens set expires_at = now() - interval '1 second' where id = ${expired.id}`,
  );
  const known = newAccessToken();
  const badChecksum = `${known.slice(0, -1)}${known.endsWith('0') ? '1' : '0'}`;
  const refused = (token: string | null, code: string): Caller => ({
    options: { token },
    refused: `401 ${code}`,
  });
  const callers: Record<string, Caller> = {
    nobody: refused(null, 'token_missing'),
    'a malformed token': refused(badChecksum, 'token_malformed'),
    'an unknown token': refused(newAccessToken(), 'token_unknown'),
    'a revoked token': refused(revoked.token, 'token_revoked'),
    'an expired token': refused(expired.token, 'token_expired'),
  };
  for (const scope of scopes) {
    const token = await tokenOf({ scopes: [scope] });
    callers[`the scope ${scope}`] = { options: { token }, scopes: [scope] };
  }
  for (const preset of Object.keys(presets) as Preset[]) {
    const token = await tokenOf({ preset });
    callers[`the preset ${preset}`] = { options: { token }, scopes: presets[preset] };
  }
  const limited = await tokenOf({ preset: 'admin', tenants: ['one'] });
  callers['an admin of one tenant'] = { options: { token: limited }, scopes: ['admin'] };
  const ofStore = await make({ scopes: storeScopes, stores: ['one/S'] });
  const isOfStore = { scopes: storeScopes, isOfStore: true } as const;
  callers['a token of one store'] = { options: { token: ofStore.token }, ...isOfStore };
  // Only past svcctl can it have more scopes; then it reaches no more.
  const escaped = await make({ scopes: storeScopes, stores: ['one/S'] });
  await service.db.query(sql`update access_tokens set scopes = '{admin}' where id = ${escaped.id}`);
  callers['an admin of one store'] = {
    options: { token: escaped.token },
    scopes: ['admin'],
    isOfStore: true,
  };

  const admin = await session(service.adminToken);
  const confirmed = await session(service.adminToken);
  const body = { token: service.adminToken };
  await service.call('POST', '/session/confirm', { token: null, headers: confirmed, body });
  const pipeline = await session(await tokenOf({ preset: 'pipeline' }));
  const ada = openBrowser(service);
  const answer = service.identity.answer(await ada.begin());
  await ada.call('POST', '/session', { answer });
  const person = { cookie: `svc_session=${ada.cookies.get('svc_session')}` };
  const elsewhere = { origin: 'https://elsewhere.example' };
  const inSession = (headers: Record<string, string>, more: Omit<Caller, 'options'>): Caller => ({
    options: { token: null, headers },
    ...more,
  });
  const visitor = async (scope: Scope): Promise<Caller> => {
    const { json } = await service.call('POST', '/webhook/portal-links', {
      body: { tenant: 'one', scope },
    });
    const body = { code: json.url.split('code=')[1] };
    const { headers } = await service.call('POST', '/portal/session', { token: null, body });
    const cookie = headers.get('set-cookie')?.split(';')[0] ?? '';
    return { options: { token: null, headers: portalHeaders(cookie) }, scopes: [scope] };
  };
  const all = { scopes: ['admin'] } as const;
  return {
    ...callers,
    'a session that has ended': {
      options: { token: null, headers: { cookie: `svc_session=${'x'.repeat(43)}` } },
      refused: '401 session_expired',
    },
    'a session': inSession(admin, { ...all, session: 'unconfirmed' }),
    'a session of a person': inSession(person, { ...all, session: 'unconfirmed' }),
    'a confirmed session': inSession(confirmed, { ...all, session: 'confirmed' }),
    'a session of a lesser token': inSession(pipeline, {
      scopes: presets.pipeline,
      session: 'unconfirmed',
    }),
    'a visitor of the portal': await visitor('webhooks:manage'),
    'a visitor who only looks': await visitor('webhooks:read'),
    'a session that another site uses': inSession(
      { ...confirmed, ...elsewhere },
      { ...all, session: 'confirmed', isCrossSite: true },
    ),
  };
}

type Called = Pick<RouteContract, 'id' | 'method'>;

function expectedOf({ id, method }: Called, rule: RouteRule, caller: Caller): string {
  if (rule.scope === 'open') return 'let in';
  if (caller.refused !== undefined) return caller.refused;
  if (caller.isCrossSite && method !== 'GET') return '403 cross_site_refused';
  const { scope } = rule;
  const has = caller.scopes ?? [];
  if (scope !== 'any' && !includesScope(has, scope)) {
    return `403 scope_missing ${scope}`;
  }
  if (caller.isOfStore && !storeRoutes.has(id)) return '403 whole_tenant_required';
  const isUnconfirmed = rule.session === 'confirms' && caller.session === 'unconfirmed';
  return isUnconfirmed ? '403 step_up_required' : 'let in';
}

describe('every kind of caller is answered by the rule, and before the input is looked at', () => {
  let callers: Record<string, Caller>;
  beforeAll(async () => {
    callers = await makeCallers();
  });

  test.each(named(routes))('%s', async (_name, route) => {
    const rule = ruleOf(route);
    const all = Object.entries(callers);
    const answered = await Promise.all(
      all.map(async ([name, { options }]) => [
        name,
        await callWrongly(route, route.method, options),
      ]),
    );
    const expected = all.map(([name, caller]) => [name, expectedOf(route, rule, caller)]);
    expect(Object.fromEntries(answered)).toEqual(Object.fromEntries(expected));
    if (route.method !== 'GET') return;
    // An answer to HEAD has no body that says why.
    for (const name of ['nobody', 'the scope enrichment:write'] as const) {
      const caller = callers[name] ?? { options: {} };
      const wanted = expectedOf(route, rule, caller);
      const head = await callWrongly(route, 'HEAD', caller.options);
      expect(head, `HEAD by ${name}`).toBe(wanted === 'let in' ? '400' : wanted.split(' ')[0]);
    }
  });
});

const statuses: Readonly<Record<ForeignTenant, RegExp>> = {
  empty: /^20\d /,
  400: /^400 /,
  404: /^404 /,
  rejected: /^20[07] .*"code":"tenant_not_allowed"/,
  403: /^403 /,
  none: /^/,
};

describe('of one tenant', () => {
  let theirs: MatrixTenant;
  let ghost: MatrixTenant;
  let still: MatrixTenant;
  /** Reach other tenants: one only reads, so that lists do not show what the other has asked for. */
  let stranger: string;
  let intruder: { id: string; token: string };
  beforeAll(async () => {
    const made = await service.makeToken({ preset: 'admin', tenants: ['tenant-stranger'] });
    stranger = made.token;
    intruder = await service.makeToken({ preset: 'admin', tenants: ['tenant-intruder'] });
    theirs = await seedTenant(service, 'tenant-theirs');
    ghost = ghostOf(theirs, 'tenant-nobody');
    // Whoever changes nothing needs no things of its own.
    still = { ...theirs, fresh: async (kind) => theirs.things[kind], complete: async (id) => id };
  });
  const answersTo = (route: RouteContract, asks: readonly Ask[], token: string) =>
    Promise.all(
      asks.map(async (ask) =>
        blind(await service.call(route.method, ask.path, { ...ask.options, token }), ask),
      ),
    );
  const ofTenants = routes.filter(({ id }) => routeRules[id]?.foreign !== 'none');

  test.each(named(ofTenants))(
    '%s tells a stranger the same as if the tenant did not exist',
    async (_name, route) => {
      const asks = await asksOf(route, still);
      const token = route.method === 'GET' ? stranger : intruder.token;
      const answers = await answersTo(route, asks, token);
      expect(answers).toEqual(await answersTo(route, await asksOf(route, ghost), token));
      for (const [index, answer] of answers.entries()) {
        const { call, filter } = asks[index] ?? {};
        const foreign = filter === 'version' ? '404' : (call?.foreign ?? ruleOf(route).foreign);
        expect(answer).toMatch(statuses[foreign]);
        // Without a filter, a list has what the stranger's own tenants have.
        if (foreign === 'empty' && route.method === 'GET') expect(answer).not.toContain('(it)');
      }
    },
  );

  test.each(named(ofTenants.filter((route) => filtersOf(route).includes('tenant'))))(
    '%s adds up no more for a stranger than its own tenant has',
    async (_name, route) => {
      for (const { path, subjects, call, filter } of await asksOf(route, still)) {
        if (filter !== null || call.query?.tenant !== undefined) continue;
        const asked = { subjects, options: {}, call, filter };
        const own = { ...asked, path: `${path}&tenant=tenant-stranger` };
        const [all, some] = await answersTo(route, [{ ...asked, path }, own], stranger);
        expect(all).toBe(some);
      }
    },
  );

  const readable = ofTenants.filter(
    ({ method, id }) => method === 'GET' && routeRules[id]?.foreign !== '403',
  );
  test.each(named(readable))('%s shows the tenant to whoever reaches it', async (_name, route) => {
    const asks = await asksOf(route, still);
    const own = await answersTo(route, asks, theirs.secret);
    const others = await answersTo(route, asks, stranger);
    for (const [index, { path, filter }] of asks.entries()) {
      expect(own[index], path).toMatch(/^200 /);
      // Only at one level do names begin so.
      if (filter !== 'q') expect(own[index], path).not.toBe(others[index]);
    }
  });

  const ofStores = ofTenants.filter(({ id }) => storeRoutes.has(id));
  test.each(named(ofStores))(
    '%s tells whoever reaches another store of it the same as if the tenant did not exist',
    async (_name, route) => {
      const own = 'tenant-theirs/OTHER';
      const request = { scopes: storeScopes, stores: [own] };
      const { token } = await service.makeToken(request);
      const told = async (of: MatrixTenant) => {
        const asks = (await asksOf(route, of)).flatMap((ask) => [ask, withStore(route, ask)]);
        const answers = asks.map(async (ask) => {
          const answer = await service.call(route.method, ask.path, { ...ask.options, token });
          return blind({ ...answer, text: answer.text.replaceAll(own, '(own)') }, ask);
        });
        return Promise.all(answers);
      };
      const answers = await told(still);
      expect(answers).toEqual(await told(ghost));
      for (const answer of answers) expect(answer).not.toMatch(/"store":"S"/);
    },
  );

  test('what an intruder tries leaves nothing in the log of the tenant', async () => {
    const told = await service.db.query(sql`
      select action from audit_log
      where token_id = ${intruder.id} and (tenant = ${theirs.tenant} or ${theirs.tenant} = any (tenants))`);
    expect(told).toEqual([]);
    const own = await service.call('GET', '/audit?action=export.csv', { token: intruder.token });
    expect(own.json.data[0]).toMatchObject({ tenant: 'tenant-intruder' });
  });

  const toldOf = ({ headers }: Answer) =>
    service.db.query<{ action: string; tenant: string | null }>(sql`
      select action, tenant from audit_log where request_id = ${headers.get('x-request-id')}`);
  const openSession = async (token: string) => (await service.signIn({ token })).headers;

  test.each(named(routes))('%s is told in the audit log as its rule says', async (_name, route) => {
    const rule = ruleOf(route);
    const secret = rule.foreign === '403' ? service.adminToken : theirs.secret;
    for (const { path, options, call, filter } of await asksOf(route, theirs)) {
      if (filter !== null) continue;
      const as =
        call.as === undefined
          ? { token: secret }
          : { token: null, headers: call.as === 'session' ? await openSession(secret) : {} };
      const answer = await service.call(route.method, path, { ...options, ...as });
      expect(answer.status, answer.text.slice(0, 1000)).toBeLessThan(300);
      const action = call.audit ?? rule.audit;
      const actions = (await toldOf(answer)).map((entry) => entry.action);
      expect(actions).toEqual(action.startsWith('(') ? [] : [action]);
    }
  });

  test('a sign-in that fails is told', async () => {
    const body = { token: newAccessToken() };
    const answer = await service.call('POST', '/session', { token: null, body });
    expect(answer.status).toBe(401);
    expect(await toldOf(answer)).toEqual([{ action: 'session.refuse', tenant: null }]);
  });
});
