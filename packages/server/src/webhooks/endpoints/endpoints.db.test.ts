import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { laneOf } from '../lanes.ts';
import { useWebhookApi } from '../testing/api.ts';

const { service, freshTenant, addEndpoint, changeEndpoint: change } = useWebhookApi();

const url = 'http://127.0.0.1:9/hook';
const at = (id: string, verb = '') => `/webhook/endpoints/${id}${verb}`;
const typesAsked = 'must be a type such as incident.created, "incident.*" or "*"';
const make = (more: object = {}) => addEndpoint({ tenant: freshTenant(), ...more });

test.each<[object, string, string]>([
  [{ tenant: undefined }, '/tenant', 'field_required'],
  [{ url: undefined }, '/url', 'field_required'],
  [{ event_types: [] }, '/event_types', 'value_invalid'],
  [{ event_types: ['a.b', 'a.b'] }, '/event_types', 'value_invalid'],
  [{ event_types: ['incident*'] }, '/event_types/0', 'value_invalid'],
  [{ max_attempts: 0 }, '/max_attempts', 'value_invalid'],
  [{ max_attempts: '3' }, '/max_attempts', 'type_invalid'],
  [{ retry_schedule: [0] }, '/retry_schedule/0', 'value_invalid'],
  [{ rate_limit: 0.5 }, '/rate_limit', 'type_invalid'],
  [{ disable_after_days: 0 }, '/disable_after_days', 'value_invalid'],
  [{ disable_after_days: 31 }, '/disable_after_days', 'value_invalid'],
  [{ secret: 'whsec_c2hvcnQ=' }, '/secret', 'value_invalid'],
  [{ secret: `whsec_${'A'.repeat(43)}=` }, '/secret', 'value_invalid'],
  [{ secret: `whsec_${'A'.repeat(42)}B=` }, '/secret', 'value_invalid'],
  [{ id: 'ep_mine' }, '/id', 'field_unknown'],
])('refuses to make an endpoint of %j for its %s: %s', async (body, path, code) => {
  const answer = await service.call('POST', '/webhook/endpoints', {
    body: { tenant: 'refused', url, ...body },
  });
  expect(answer.status).toBe(400);
  expect(answer.json.errors).toContainEqual(expect.objectContaining({ path, code }));
  const listed = await service.call('GET', '/webhook/endpoints?tenant=refused');
  expect(listed.json.data).toEqual([]);
});

test('says what a type of events looks like that is refused', async () => {
  const body = { tenant: 'refused', url, event_types: ['Incident'] };
  const { json } = await service.call('POST', '/webhook/endpoints', { body });
  expect(json.errors).toMatchObject([{ path: '/event_types/0', message: typesAsked }]);
});

test('null at a new endpoint is as nothing said', async () => {
  const { id } = await make({ stores: null, where: null });
  expect((await service.call('GET', at(id))).json).toMatchObject({ stores: null, where: null });
});

test.each([
  ['http://10.0.0.1/hook', 'target_blocked'],
  ['https://169.254.169.254/latest', 'target_blocked'],
  ['https://me:secret@127.0.0.1/', 'target_invalid'],
  ['ftp://127.0.0.1/', 'target_invalid'],
])('refuses the URL %s when it is made and when it is changed', async (target, code) => {
  const body = { tenant: 'refused', url: target };
  const answer = await service.call('POST', '/webhook/endpoints', { body });
  expect(answer.json).toMatchObject({ status: 400, code });
  const { id } = await make();
  const changed = await service.call('PATCH', at(id), { body: { url: target } });
  expect(changed.json).toMatchObject({ status: 400, code });
  expect((await service.call('GET', at(id))).json.url).toBe(url);
});

test.each([
  [{}, '/'],
  [{ enabled: 1 }, '/enabled'],
  [{ url: null }, '/url'],
  [{ tenant: 'other' }, '/tenant'],
  [{ secret: `whsec_${'A'.repeat(43)}=` }, '/secret'],
])('refuses to change %j', async (body, path) => {
  const { id } = await make();
  const answer = await service.call('PATCH', at(id), { body });
  expect(answer.status).toBe(400);
  expect(answer.json.errors).toContainEqual(expect.objectContaining({ path }));
});

test.each([
  ['GET', ''],
  ['PATCH', ''],
  ['DELETE', ''],
  ['POST', '/rotate-secret'],
  ['POST', '/ping'],
])('%s %s of a malformed or a deleted endpoint answers 404', async (method, verb) => {
  const deleted = (await make()).id;
  expect((await service.call('DELETE', at(deleted))).status).toBe(204);
  const body = method === 'PATCH' ? { enabled: true } : undefined;
  for (const id of ['nonsense', 'ep_%00', deleted]) {
    const answer = await service.call(method, at(id, verb), { body });
    expect(answer.json, id).toMatchObject({ status: 404, code: 'endpoint_not_found' });
  }
});

test('a new endpoint takes every type, is enabled, and shows its secret once', async () => {
  const made = await make({ tenant: 'first' });
  expect(made).toEqual({
    id: expect.stringMatching(/^ep_\w{16}$/),
    tenant: 'first',
    type: 'push',
    url,
    description: null,
    uid: null,
    name: null,
    labels: {},
    event_types: ['*'],
    stores: null,
    where: null,
    health: 'ok',
    held_back: null,
    enabled: true,
    disabled_reason: null,
    disabled_at: null,
    disabled_by: null,
    ordered: 'none',
    when_stuck: 'block',
    max_attempts: null,
    retry_schedule: null,
    rate_limit: null,
    disable_after_days: null,
    delivery: null,
    failing_since: null,
    breaker: { state: 'closed', failures_in_row: 0, paused_until: null },
    throttled_until: null,
    backlog: { count: 0, is_exact: true, is_discarding: false },
    previous_secret_until: null,
    header_names: [],
    created_at: expect.stringMatching(/\.\d{6}Z$/),
    warnings: [],
    updated_at: made.created_at,
    secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
  });
  const { secret: _shown, warnings: _told, ...rest } = made;
  expect((await service.call('GET', at(made.id))).json).toEqual(rest);
  const [row] = await service.db.query(
    sql`select lane from webhook_endpoints where id = ${made.id}`,
  );
  expect(row).toEqual({ lane: laneOf(made.id) });
});

test('keeps the settings and the secret that it was given', async () => {
  const settings = {
    description: 'pager, 2nd floor',
    event_types: ['incident.created', '*'],
    enabled: false,
    max_attempts: 3,
    retry_schedule: [1, 60, 604_800],
    rate_limit: 10_000,
    secret: `whsec_${Buffer.alloc(24, 7).toString('base64')}`,
  };
  const made = await make(settings);
  const disabled = { disabled_reason: 'operator', disabled_by: expect.any(String) };
  expect(made).toMatchObject({ ...settings, ...disabled, disabled_at: made.created_at });
});

test('lists the endpoints by tenant, each once, over pages', async () => {
  const [one, two] = [`list ${freshTenant()}`, `list ${freshTenant()}`];
  const made: string[] = [];
  for (let n = 0; n < 5; n++) made.push((await make({ tenant: n % 2 ? one : two })).id);
  const seen: { id: string; tenant: string }[] = await service.all('/webhook/endpoints?limit=2');
  const keys = seen.map((row) => `${row.tenant} ${row.id}`);
  expect(keys).toEqual([...new Set(keys)].sort());
  expect(seen.map((row) => row.id)).toEqual(expect.arrayContaining(made));
  const path = `/webhook/endpoints?tenant=${encodeURIComponent(one)}`;
  expect((await service.call('GET', path)).json.data).toHaveLength(2);
  const first = await service.call('GET', '/webhook/endpoints?limit=2');
  expect(first.json.data).toHaveLength(2);
  const other = await service.call('GET', `${path}&cursor=${first.json.next_cursor}`);
  expect(other.json).toMatchObject({ status: 400, code: 'cursor_invalid' });
});

test('lists those that fare so, or that have a text, which is not looked for in the query', async () => {
  const tenant = freshTenant();
  const plain = await make({ tenant, url: `${url}/Plain?key=hidden` });
  const named = await make({ tenant, description: 'Of the SOC' });
  const off = await make({ tenant, enabled: false });
  await service.db.query(sql`update webhook_endpoints set failures_in_row = 20, failing_since = now(),
    paused_until = now() + interval '1 hour' where id = ${named.id}`);
  const list = async (filter: string) => {
    const path = `/webhook/endpoints?tenant=${tenant}&limit=1&${filter}`;
    return (await service.all(path)).map(({ id }) => id);
  };
  expect(await list('health=failing')).toEqual([named.id]);
  expect(await list('health=disabled')).toEqual([off.id]);
  expect(await list('health=ok')).toEqual([plain.id]);
  expect(await list('q=/plain')).toEqual([plain.id]);
  // The tests' server folds I as Turkish does.
  expect(await list('q=/PLAIN')).toEqual([plain.id]);
  expect(await list('q=SOC')).toEqual([named.id]);
  expect(await list('q=hidden')).toEqual([]);
  expect(await list('q=soc&health=ok')).toEqual([]);
});

test('lists by health those first that need somebody, over pages', async () => {
  const tenant = freshTenant();
  const set = (id: string, columns: ReturnType<typeof sql>) =>
    service.db.query(sql`update webhook_endpoints set ${columns} where id = ${id}`);
  const fine = (await make({ tenant })).id;
  const off = (await make({ tenant, enabled: false })).id;
  const degraded = (await make({ tenant })).id;
  const failing = (await make({ tenant })).id;
  const gone = (await make({ tenant, enabled: false })).id;
  const [unsteady, steady] = [(await make({ tenant })).id, (await make({ tenant })).id];
  const byId = (a: string, b: string) => (a < b ? -1 : 1);
  const ill = [degraded, unsteady].sort(byId);
  const well = [fine, steady].sort(byId);
  await set(steady, sql`failures_in_row = 1, failing_since = now()`);
  await service.db.query(sql`
    insert into endpoint_hours (lane, endpoint_id, hour, delivered, failed, abandoned)
    select lane, id, date_trunc('hour', now(), 'UTC'), 95, case when id = ${unsteady} then 6 else 5 end, 0
    from webhook_endpoints where id in (${unsteady}, ${steady})`);
  await set(degraded, sql`failures_in_row = 1, failing_since = now()`);
  await set(failing, sql`failures_in_row = 20, paused_until = now() + interval '1 hour'`);
  await set(gone, sql`disabled_reason = 'gone'`);
  const path = `/webhook/endpoints?tenant=${tenant}&limit=2`;
  const ids = (await service.all(`${path}&order=health`)).map(({ id }) => id);
  expect(ids).toEqual([failing, gone, ...ill, off, ...well]);
  const found = await service.all(`${path}&health=degraded`);
  expect(found.map(({ id, health }) => `${id} ${health}`)).toEqual(
    ill.map((id) => `${id} degraded`),
  );
  const { json } = await service.call('GET', `${path}&order=health`);
  const other = await service.call('GET', `${path}&cursor=${json.next_cursor}`);
  expect(other.json.code).toBe('cursor_invalid');
});

test('a change leaves what it does not name; null goes back to the default', async () => {
  const made = await make({ max_attempts: 3, rate_limit: 5, description: 'old' });
  const moved = await change(made.id, { url: `${url}/2`, rate_limit: null });
  const { secret: _secret, ...rest } = made;
  expect(moved).toEqual({
    ...rest,
    url: `${url}/2`,
    rate_limit: null,
    updated_at: expect.any(String),
  });
  expect(moved.updated_at > made.updated_at).toBe(true);
  const types = await change(made.id, { event_types: ['a.b'], description: null });
  expect(types).toMatchObject({ event_types: ['a.b'], description: null, max_attempts: 3 });
});

test('the query of a URL is shown only where it can be changed', async () => {
  const tenant = freshTenant();
  const whole = `${url}?key=s3cret`;
  const made = await make({ tenant, url: whole });
  expect(made.url).toBe(whole);
  expect((await service.call('GET', at(made.id))).json.url).toBe(whole);
  const target = await service.call('POST', '/notify/targets', {
    body: { kind: 'webhook', url: whole },
  });
  expect(target.json.url).toBe(whole);
  const report = { tenant, type: 'incident.created', data: {} };
  const reported = await service.call('POST', '/incidents', { body: report });
  const [delivery] = reported.json.deliveries;
  // As after a failure, also of the release before.
  await service.db.query(sql`update deliveries set status = 'abandoned', attempts = 1, error = 'HTTP 500',
    failure_class = 'http_5xx', last_attempt_at = now(), finished_at = now(), next_attempt_at = null
    where id = ${delivery.id}`);
  await service.db.query(sql`insert into dead_letter_counts (endpoint_id, status, failure_class, tenant, count)
    values (${made.id}, 'abandoned', 'http_5xx', ${tenant}, 1)`);
  await service.db.query(sql`update webhook_endpoints set failures_in_row = 20, failing_since = now(),
    paused_until = now() + interval '1 hour' where id = ${made.id}`);
  const lists = [
    '/webhook/endpoints',
    `/webhook/deliveries?tenant=${tenant}`,
    `/webhook/dlq?status=abandoned&tenant=${tenant}`,
    `/webhook/dlq/groups?status=abandoned&tenant=${tenant}`,
    `/webhook/dlq/${delivery.id}`,
    '/notify/targets',
    '/stats/overview',
    '/audit?action=endpoint.create',
    '/audit?action=notify_target.create',
  ];
  for (const path of lists) {
    const { text } = await service.call('GET', path);
    expect(text, path).toContain(`${url}?…`);
    expect(text, path).not.toContain('s3cret');
  }
  const preview = await service.call('POST', '/webhook/dlq/retry', {
    body: { tenant, dry_run: true },
  });
  expect(preview.text).toContain(`${url}?…`);
  expect(preview.text).not.toContain('s3cret');

  expect(await change(made.id, { url: `${url}?…` })).toMatchObject({ url: whole });
  const body = { url: `${url}/elsewhere?…` };
  const elsewhere = await service.call('PATCH', `/webhook/endpoints/${made.id}`, { body });
  expect(elsewhere.json).toMatchObject({ status: 400, code: 'target_invalid' });
  await change(made.id, { url: `${url}?key=n3w` });
  const changes = await service.call('GET', '/audit?action=endpoint.change');
  expect(changes.text).not.toMatch(/s3cret|n3w/);
  const stored = await service.db.query(sql`
    select from audit_log where concat(before, after) ~ 's3cret|n3w'`);
  expect(stored).toEqual([]);
  // As the release before wrote it.
  await service.db.query(sql`
    update audit_log set after = json_build_object('url', ${whole}::text)
    where action = 'endpoint.create' and target = ${made.id}`);
  const old = await service.call('GET', '/audit?action=endpoint.create');
  expect(old.text).toContain(`${url}?…`);
  expect(old.text).not.toContain('s3cret');
});

test('an operator disables an endpoint; enabling it closes its breaker', async () => {
  const { id } = await make();
  await service.db.query(sql`
    update webhook_endpoints set failures_in_row = 20, pauses_in_row = 3,
      paused_until = now() + interval '1 hour' where id = ${id}`);
  expect((await service.call('GET', at(id))).json.breaker).toEqual({
    state: 'open',
    failures_in_row: 20,
    paused_until: expect.stringMatching(/\.\d{6}Z$/),
  });
  const disabled = await change(id, { enabled: false });
  expect(disabled).toMatchObject({
    enabled: false,
    disabled_reason: 'operator',
    disabled_at: disabled.updated_at,
    disabled_by: 'first admin',
  });
  expect(await change(id, { enabled: false })).toMatchObject({ disabled_at: disabled.disabled_at });
  expect(disabled.breaker.state).toBe('open');
  await service.db.query(sql`
    update webhook_endpoints set paused_until = now() - interval '1 second', disabled_reason = 'gone'
    where id = ${id}`);
  const renamed = await change(id, { description: 'x' });
  expect(renamed).toMatchObject({ disabled_reason: 'gone', breaker: { state: 'probing' } });
  expect(await change(id, { enabled: true })).toMatchObject({
    enabled: true,
    disabled_reason: null,
    disabled_at: null,
    disabled_by: null,
    breaker: { state: 'closed', failures_in_row: 0, paused_until: null },
  });
  const [row] = await service.db.query(
    sql`select pauses_in_row from webhook_endpoints where id = ${id}`,
  );
  expect(row).toEqual({ pauses_in_row: 0 });
});

test('changes at the same moment both hold', async () => {
  const { id } = await make();
  await Promise.all([
    ...Array.from({ length: 5 }, () => change(id, { description: 'one' })),
    ...Array.from({ length: 5 }, () => change(id, { rate_limit: 7 })),
  ]);
  const now = (await service.call('GET', at(id))).json;
  expect(now).toMatchObject({ description: 'one', rate_limit: 7 });
});
