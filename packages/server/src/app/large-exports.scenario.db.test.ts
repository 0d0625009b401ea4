import { expect, test } from 'vitest';
import { useTestService } from '../../test/service.ts';

const service = useTestService({ SVC_EXPORT_TELL_ROWS: '5' });

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
