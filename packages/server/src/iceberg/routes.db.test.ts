import { describe, expect, test } from 'vitest';
import { useTestService } from '../../test/service.ts';

const service = useTestService({ SVC_ROLES: 'api' });
const table = '/iceberg/v1/namespaces/svcctl/tables/records';
/** At the origin, where readers of Iceberg look. */
const ask = (method: string, path: string, token: string | null = service.adminToken) =>
  service.call(method, `/~${path}`, { token });

describe('errors have the form of Iceberg beside our own', () => {
  test.each([
    ['GET', table, null, 401, 'NotAuthorizedException', 'token_missing'],
    ['GET', `${table}?pageToken=x`, undefined, 400, 'BadRequestException', 'request_invalid'],
    ['GET', '/iceberg/v1/namespaces/other', undefined, 404, 'NoSuchNamespaceException', null],
    ['GET', '/iceberg/v1/namespaces/svcctl/tables/x', undefined, 404, 'NoSuchTableException', null],
    ['POST', '/iceberg/v1/namespaces', undefined, 405, 'UnsupportedOperationException', null],
    ['POST', table, undefined, 405, 'UnsupportedOperationException', 'method_not_allowed'],
    ['DELETE', table, undefined, 405, 'UnsupportedOperationException', 'method_not_allowed'],
  ] as const)('%s %s', async (method, path, token, status, type, code) => {
    const answer = await ask(method, path, token);
    expect(answer.status, answer.text).toBe(status);
    expect(answer.json.error).toMatchObject({ type, code: status });
    expect(answer.json.error.message).toBe(answer.json.detail);
    if (code !== null) expect(answer.json.code).toBe(code);
  });

  test('a token without the scope is refused so, too', async () => {
    const { token } = await service.makeToken({ preset: 'pipeline' });
    const answer = await ask('GET', table, token);
    expect(answer.json).toMatchObject({
      code: 'scope_missing',
      error: { type: 'ForbiddenException' },
    });
  });

  test('other errors have only our own', async () => {
    expect((await ask('GET', '/api/v1/me', null)).json).not.toHaveProperty('error');
  });
});

test('the catalogue has one namespace with one table, at the origin and below /api/v1', async () => {
  for (const base of ['', '/api/v1']) {
    const get = async (path: string) => (await ask('GET', `${base}/iceberg/v1${path}`)).json;
    expect(await get('/config?warehouse=x')).toMatchObject({ defaults: {}, overrides: {} });
    expect(await get('/namespaces?pageToken=')).toEqual({ namespaces: [['svcctl']] });
    expect(await get('/namespaces?parent=svcctl')).toEqual({ namespaces: [] });
    expect(await get('/namespaces/svcctl')).toEqual({ namespace: ['svcctl'], properties: {} });
    expect(await get('/namespaces/svcctl/tables')).toEqual({
      identifiers: [{ namespace: ['svcctl'], name: 'records' }],
    });
    expect(await get('/namespaces/svcctl/tables/records?snapshots=all')).toMatchObject({
      metadata: { 'format-version': 2 },
    });
    expect((await ask('HEAD', base + table)).status).toBe(200);
  }
});

test('tokens limited to the same tenants load one table, and others another', async () => {
  const load = async (tenants?: string[]) => {
    const { token } = await service.makeToken({ preset: 'curator', ...(tenants && { tenants }) });
    const { json } = await ask('GET', table, token);
    return [json['metadata-location'], json.metadata['table-uuid']];
  };
  expect(await load(['a', 'b'])).toEqual(await load(['b', 'a']));
  const tables = [await load(['a']), await load(['b']), await load()];
  expect(new Set(tables.flat()).size).toBe(6);
});
