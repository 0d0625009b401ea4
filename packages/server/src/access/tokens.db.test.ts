import { expect, test } from 'vitest';
import { useTestService } from '../../test/service.ts';

const service = useTestService({ SVC_TOKEN_DAYS: '30' });

const millisIn = (days: number) => Date.now() + days * 86_400_000;
const inDays = (days: number) => new Date(millisIn(days)).toISOString();
const make = (body: object, token?: string) =>
  service.call('POST', '/tokens', {
    body: { name: 'bound', ...body },
    ...(token !== undefined && { token }),
  });

test('no token that is made lives longer than SVC_TOKEN_DAYS says, by a preset, as asked for, or once rotated', async () => {
  const from = millisIn(30);
  const { json } = await make({ preset: 'admin' });
  const ends = Date.parse(json.expires_at);
  expect([ends >= from, ends <= millisIn(30)]).toEqual([true, true]);
  const late = await make({ scopes: ['enrichment:read'], expires_at: inDays(31) });
  expect([late.status, late.json.code]).toEqual([400, 'request_invalid']);
  expect(late.text).toContain('SVC_TOKEN_DAYS');
  const soon = inDays(2).replace(/Z$/, '000Z');
  expect((await make({ preset: 'viewer', expires_at: soon })).json.expires_at).toBe(soon);
  // A token that ends sooner bounds what it makes, as ever.
  const short = (await make({ preset: 'admin', expires_at: soon })).json;
  expect((await make({ preset: 'viewer' }, short.token)).json.expires_at).toBe(soon);
  const tooLong = await make({ preset: 'viewer', expires_at: inDays(3) }, short.token);
  expect(tooLong.text).toContain('when your own token expires');
  const rotated = await service.call('POST', `/tokens/${json.id}/rotate`, { body: {} });
  expect(rotated.json.expires_at).toBe(json.expires_at);
});
