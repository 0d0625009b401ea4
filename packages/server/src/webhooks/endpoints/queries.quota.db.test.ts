import { expect, test } from 'vitest';
import { useTestService } from '../../../test/service.ts';

const service = useTestService({ SVC_ALLOW_TARGETS: '127.0.0.0/8', SVC_TENANT_ENDPOINTS: '2' });

const make = (tenant: string) =>
  service.call('POST', '/webhook/endpoints', { body: { tenant, url: 'http://127.0.0.1:9/in' } });

test('a tenant gets as many endpoints as it may have, also of many at once, and no more', async () => {
  const answers = await Promise.all(Array.from({ length: 6 }, () => make('TX')));
  const made = answers.filter(({ status }) => status === 201);
  expect(made).toHaveLength(2);
  const codes = answers.filter(({ status }) => status !== 201).map(({ json }) => json.code);
  expect(codes).toEqual(Array.from({ length: 4 }, () => 'endpoint_quota'));
  expect((await make('CA')).status).toBe(201);
  await service.call('DELETE', `/webhook/endpoints/${made[0]?.json.id}`);
  expect((await make('TX')).status).toBe(201);
  expect((await make('TX')).json).toMatchObject({ status: 409, code: 'endpoint_quota' });
});
