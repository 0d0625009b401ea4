import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { useTestService } from '../../test/service.ts';
import { createRecords } from './ingest/testing/post-records.ts';

const service = useTestService({ SVC_INGEST_MAX_RECORDS: '50' });
const record = createRecords();

const types = { json: 'application/json', lines: 'application/x-ndjson' };
function send(
  query: string,
  type: keyof typeof types,
  records: readonly unknown[],
  { token = service.adminToken, isZipped = false } = {},
) {
  const texts = records.map((one) => (typeof one === 'string' ? one : JSON.stringify(one)));
  const text = type === 'json' ? `{"records":[${texts.join(',')}]}` : texts.join('\n');
  return service.call('POST', `/enrichment/records${query}`, {
    token,
    body: isZipped ? gzipSync(text) : text,
    headers: { 'content-type': types[type], ...(isZipped && { 'content-encoding': 'gzip' }) },
  });
}
const enriched = (tenant: string, enrichment: string) =>
  JSON.stringify(record({ tenant, enrichment: 0 })).replace(
    '"enrichment":0',
    `"enrichment":${enrichment}`,
  );
const countOf = async (tenant: string) => {
  const { json } = await service.call('GET', `/enrichment/records?tenant=${tenant}`);
  return json.data.length;
};

test.each([
  ['json', false],
  ['json', true],
  ['lines', false],
  ['lines', true],
] as const)(
  'a dry run of %s answers as storing does, with warnings, and stores nothing',
  async (type, isZipped) => {
    const tenant = `${type}-${isZipped}`;
    const other = `${tenant}-other`;
    const sent = [
      enriched(tenant, '{"n":12345678901234567890}'),
      enriched(tenant, '{"n":1,"n":2}'),
      record({ tenant, kind: 7 }),
      enriched(other, '{"a.b":[1e400,1e401]}'),
    ];
    const dry = await send('?dry_run=true', type, sent, { isZipped });
    expect(dry.status).toBe(200);
    expect([await countOf(tenant), await countOf(other)]).toEqual([0, 0]);
    const { accepted, duplicates, rejected, rejected_count, ...more } = dry.json;
    expect(more).toEqual({
      dry_run: true,
      warnings: [
        {
          index: 0,
          tenant,
          code: 'integer_unsafe',
          path: '/enrichment/n',
          message: expect.stringContaining('12345678901234567890'),
        },
        {
          index: 3,
          tenant: other,
          code: 'key_dotted',
          path: '/enrichment/a.b',
          message: expect.any(String),
        },
        {
          index: 3,
          tenant: other,
          code: 'number_beyond_double',
          path: '/enrichment/a.b/0',
          message: expect.stringContaining('and 1 more'),
        },
      ],
      warning_count: 3,
      by_code: expect.arrayContaining([
        { code: 'integer_unsafe', severity: 'warning', count: 1 },
        { code: 'json_duplicate_key', severity: 'error', count: 1 },
        { code: 'field_invalid', severity: 'error', count: 1 },
      ]),
      by_tenant: [
        { tenant, errors: 2, warnings: 1 },
        { tenant: other, errors: 0, warnings: 2 },
      ],
    });
    const real = await send('?dry_run=false', type, sent, { isZipped });
    expect(real.json).toEqual({ accepted, duplicates, rejected, rejected_count });
    expect(await countOf(tenant)).toBe(1);
    const again = await send('?dry_run=true', type, sent, { isZipped });
    expect(again.json).toMatchObject({ accepted: 0, duplicates: 2, rejected, warning_count: 3 });
  },
);

test('a dry run is written down nowhere', async () => {
  const told = async () => {
    const { json: audit } = await service.call('GET', '/audit?limit=1');
    const { text } = await service.call('GET', '/enrichment/datasets?level=tenant');
    const { json: stored } = await service.call('GET', '/stats/records');
    const answer = await fetch(`${service.url}/metrics`, {
      headers: { authorization: `Bearer ${service.adminToken}` },
    });
    const counted = /^svcctl_ingest_records_total.*$/gm;
    const metrics = (await answer.text()).match(counted);
    expect(metrics?.length).toBeGreaterThan(0);
    return [audit.data, text, stored, metrics];
  };
  const before = await told();
  await send(
    '?dry_run=true',
    'lines',
    Array.from({ length: 120 }, () => record({ tenant: 'nowhere' })),
  );
  expect(await told()).toEqual(before);
});

test('the list of warnings holds the first 100 of a code, and their number is told', async () => {
  const sent = Array.from({ length: 220 }, (_, n) => enriched(`t${n % 2}`, `{"n":1e${400 + n}}`));
  const { json } = await send('?dry_run=true', 'lines', sent);
  expect(json.accepted).toBe(220);
  expect(json.warnings.map(({ index }: { index: number }) => index)).toEqual([
    ...Array(100).keys(),
  ]);
  expect(json.warning_count).toBe(220);
  expect(json.by_tenant).toEqual([
    { tenant: 't0', errors: 0, warnings: 110 },
    { tenant: 't1', errors: 0, warnings: 110 },
  ]);
});

test('more than a thousand tenants are counted together', async () => {
  const sent = Array.from({ length: 1010 }, (_, n) => enriched(`many${n}`, '{"n":1e400}'));
  const { json } = await send('?dry_run=true', 'lines', sent);
  expect(json.by_tenant).toHaveLength(1001);
  expect(json.by_tenant[0]).toEqual({ tenant: null, errors: 0, warnings: 10 });
});

test('what storing refuses as a whole, a dry run refuses alike', async () => {
  for (const query of ['?dry_run=true', '']) {
    const empty = await send(query, 'json', []);
    expect([empty.status, empty.json.code]).toEqual([400, 'request_invalid']);
    const many = await send(
      query,
      'json',
      Array.from({ length: 51 }, () => record()),
    );
    expect([many.status, many.json.code]).toEqual([400, 'request_invalid']);
  }
  for (const query of ['?dry_run=yes', '?dry_run=', '?dry=true']) {
    const answer = await send(query, 'lines', [record({ tenant: 'query' })]);
    expect([answer.status, answer.json.code]).toEqual([400, 'request_invalid']);
  }
  expect(await countOf('query')).toBe(0);
});

test('a token tries what it may write: its tenants, with the scope of ingest', async () => {
  const pipeline = await service.makeToken({ preset: 'pipeline', tenants: ['own'] });
  const sent = [record({ tenant: 'own' }), record({ tenant: 'foreign' })];
  const { json } = await send('?dry_run=true', 'lines', sent, pipeline);
  expect(json).toMatchObject({ accepted: 1, rejected: [{ index: 1, code: 'tenant_not_allowed' }] });
  expect(json.by_tenant).toEqual([{ tenant: 'foreign', errors: 1, warnings: 0 }]);
  const reader = await service.makeToken({ name: 'reader', scopes: ['enrichment:read'] });
  const refused = await send('?dry_run=true', 'lines', sent, reader);
  expect([refused.status, refused.json.code]).toEqual([403, 'scope_missing']);
});
