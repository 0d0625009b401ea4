import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { useFolder } from '../../test/folder.ts';
import { useTestService } from '../../test/service.ts';

const folder = useFolder('once');
const service = useTestService({ SVC_EXPORT_TELL_ROWS: '5', SVC_EXPORT_ROOTS: tmpdir() });

const store = async (tenant: string, count: number) => {
  const records = Array.from({ length: count }, (_, n) => ({
    tenant,
    store: 's',
    event_id: `${tenant}-${n}`,
    enrichment: {},
    occurred_at: '2026-02-01T00:00:00Z',
  }));
  await service.call('POST', '/enrichment/records', { body: { records } });
};
const large = async (token?: string) => {
  const { json } = await service.call(
    'GET',
    '/stats/overview',
    token === undefined ? {} : { token },
  );
  return json.troubles.filter((each: { kind: string }) => each.kind === 'exports_large');
};

test('tells who exported how much of what, once a token is beyond the threshold', async () => {
  await store('TX', 3);
  await store('CA', 2);
  const desk = await service.makeToken({ name: 'desk', preset: 'support-readonly' });
  const other = await service.makeToken({ preset: 'support-readonly' });
  const get = (token: string, tenant: string, more = {}) =>
    service.call('POST', '/exports/csv', { token, body: { tenant, ...more } });
  await get(desk.token, 'TX');
  await get(other.token, 'CA');
  // Neither a link that nobody opens nor a job that nobody downloads has let anything out.
  await get(desk.token, 'CA', { delivery: 'link' });
  expect(await large()).toEqual([]);
  await get(desk.token, 'CA');
  const text = '"desk" has exported 5 records within 24 hours, in 2 files, most of them of TX';
  expect(await large()).toMatchObject([
    {
      kind: 'exports_large',
      severity: 'warning',
      id: desk.id,
      text: expect.stringContaining(text),
    },
  ]);
  // Who is no admin is told of nobody, and one of a tenant of what was exported of that alone.
  expect(await large(other.token)).toEqual([]);
  const ofTenant = await service.makeToken({ preset: 'admin', tenants: ['TX'] });
  expect(await large(ofTenant.token)).toEqual([]);
  await get(desk.token, 'TX');
  expect(await large(ofTenant.token)).toMatchObject([
    { text: expect.stringContaining('6 records within 24 hours, in 2 files') },
  ]);
});

test('counts what a schedule delivers as exports of whoever made it', async () => {
  await store('NM', 3);
  const { id, token } = await service.makeToken({ name: 'nightly desk', preset: 'admin' });
  const body = { tenant: 'NM', cron: '0 2 * * *', format: 'ndjson', name: 'nightly' };
  const to = join(folder.path, '{tenant}');
  const made = await service.call('POST', '/exports/schedules', { token, body: { ...body, to } });
  expect(made.status, made.text).toBe(201);
  const path = `/exports/schedules/${made.json.id}`;
  const deliver = async () => {
    const before = (await service.call('GET', path)).json.last_run?.id;
    await service.call('POST', `${path}/run`);
    return vi.waitUntil(
      async () => {
        const { last_run: last } = (await service.call('GET', path)).json;
        return last?.delivered_at && last.id !== before && last;
      },
      { timeout: 60_000, interval: 50 },
    );
  };
  const first = await deliver();
  // Nothing left by this one.
  await deliver();
  const entries = (await service.call('GET', '/audit?action=export.deliver')).json.data;
  expect(entries).toMatchObject([
    {
      actor: { token_id: id, name: 'nightly desk' },
      target: first.id,
      tenants: ['NM'],
      after: { schedule: 'nightly', rows: 3, to: expect.stringContaining(folder.path) },
    },
  ]);
  await service.call('POST', '/enrichment/records', {
    body: {
      records: ['x', 'y'].map((event_id) => ({
        ...{ tenant: 'NM', store: 's', event_id, enrichment: {} },
        occurred_at: '2026-02-02T00:00:00Z',
      })),
    },
  });
  await deliver();
  const ofTenant = await service.makeToken({ preset: 'admin', tenants: ['NM'] });
  const text = '"nightly desk" has exported 5 records within 24 hours, in 2 files';
  expect(await large(ofTenant.token)).toMatchObject([{ id, text: expect.stringContaining(text) }]);
});
