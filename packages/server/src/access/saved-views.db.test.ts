import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { useTestService } from '../../test/service.ts';

const service = useTestService({ SVC_RATE_LIMIT: '0' });

async function caller(tenants?: readonly string[], preset = 'support-readonly') {
  const { token, id } = await service.makeToken({ preset, ...(tenants && { tenants }) });
  const call = (method: string, path: string, body?: unknown) =>
    service.call(method, path, { token, ...(body !== undefined && { body }) });
  const read = async () =>
    (await call('GET', '/views')).json.data as { name: string; own: boolean }[];
  const list = async () => (await read()).map(({ name }) => name);
  const own = async () => (await read()).flatMap((view) => (view.own ? [view.name] : []));
  const put = (name: string, address: string, more = {}) =>
    call('PUT', `/views/${encodeURIComponent(name)}`, { address, ...more });
  return { id, call, list, own, put };
}

test('a view keeps the page and its filters, and is the caller’s alone until it is shared', async () => {
  const [ada, bob] = [await caller(), await caller()];
  const address = '#/dlq?status=abandoned&tenant=TX&panel=retry&cursor=abc&tenant=CA';
  const saved = await ada.put('TX, parked / 1', address);
  expect([saved.status, saved.json]).toMatchObject([
    200,
    {
      address: '#/dlq?status=abandoned&tenant=TX',
      shared: false,
      own: true,
      owner: { id: ada.id },
    },
  ]);
  expect([await ada.list(), await bob.list()]).toEqual([['TX, parked / 1'], []]);
  await ada.put('TX, parked / 1', '#/dlq?tenant=TX', { shared: true });
  const { data } = (await bob.call('GET', '/views')).json;
  expect(data).toMatchObject([{ address: '#/dlq?tenant=TX', own: false, owner: { id: ada.id } }]);
  expect((await bob.call('DELETE', `/views/TX%2C%20parked%20%2F%201`)).status).toBe(404);
  expect((await ada.call('DELETE', `/views/TX%2C%20parked%20%2F%201`)).status).toBe(204);
  expect(await bob.list()).toEqual([]);
});

test('a rename takes no other view’s place', async () => {
  const { put, own } = await caller();
  await put('a', '#/records?tenant=TX');
  await put('b', '#/records?tenant=CA');
  const taken = await put('a', '#/records?tenant=TX', { name: 'b' });
  expect([taken.status, taken.json.code]).toEqual([409, 'view_name_taken']);
  const missing = await put('none', '#/records', { name: 'c' });
  expect([missing.status, missing.json.code]).toEqual([404, 'view_not_found']);
  expect((await put('a', '#/records?tenant=TX', { name: 'c' })).json.name).toBe('c');
  expect(await own()).toEqual(['b', 'c']);
});

test('a token limited to tenants saves views of these, and sees no others that are shared', async () => {
  const [everywhere, inTexas] = [await caller(), await caller(['TX'])];
  await everywhere.put('of TX', '#/dlq?tenant=TX', { shared: true });
  await everywhere.put('of CA', '#/dlq?tenant=CA', { shared: true });
  await everywhere.put('of all', '#/dlq?q=Acme', { shared: true });
  expect(await inTexas.list()).toEqual(['of TX']);
  const refused = await inTexas.put('CA', '#/dlq?tenant=CA');
  expect([refused.status, refused.json.code]).toEqual([400, 'request_invalid']);
  const shared = await inTexas.put('all', '#/dlq', { shared: true });
  expect([shared.status, shared.json.code]).toEqual([403, 'scope_missing']);
  expect((await inTexas.put('all', '#/dlq')).status).toBe(200);
  expect(await inTexas.list()).toEqual(['all', 'of TX']);
});

test('an admin of all tenants deletes what others share, which the audit log tells', async () => {
  const [owner, limited] = [await caller(), await caller(['TX'], 'admin')];
  await owner.put('old', '#/dlq?tenant=TX', { shared: true });
  await owner.put('private', '#/dlq?tenant=TX');
  const remove = (name: string) => `/views/${name}?owner=${owner.id}`;
  expect((await limited.call('DELETE', remove('old'))).status).toBe(404);
  expect((await service.call('DELETE', remove('private'))).status).toBe(404);
  expect((await service.call('DELETE', remove('old'))).status).toBe(204);
  expect(await owner.own()).toEqual(['private']);
  const told = await service.db.query(
    sql`select tenants from audit_log where action = 'view.delete' and target = 'old'`,
  );
  expect(told).toHaveLength(1);
});

test('what is no address of the console is refused, and so is one view more than a caller may have', async () => {
  const { id, put, own } = await caller();
  for (const address of ['javascript:alert(1)', 'https://x.example/#/', '#/dlq?a=1#b', '#/dlq x']) {
    expect((await put('bad', address)).json.code).toBe('request_invalid');
  }
  expect((await put('x'.repeat(201), '#/dlq')).status).toBe(400);
  expect(await own()).toEqual([]);
  await service.db.query(sql`
    insert into saved_views (owner_id, name, address, is_shared)
    select ${id}, 'view ' || n, '#/dlq', false from generate_series(1, 200) n`);
  expect((await put('one more', '#/dlq')).json.code).toBe('views_full');
  expect((await put('view 7', '#/records')).status).toBe(200);
});
