import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { useTestService } from '../../../test/service.ts';

const service = useTestService();

const recordOf = (tenant: string, store: string, event_id: string) => ({
  tenant,
  store,
  event_id,
  occurred_at: '2001-01-01T00:00:00Z',
  enrichment: {},
});
const ingest = async (records: object[]) =>
  (await service.call('POST', '/enrichment/records', { body: { records } })).json;

test.each(['Acme\u200b', 'ac\u202eme', ' Acme', 'Acme ', 'Ac\u200dme', '\ufeffAcme', 'Acme\u00a0'])(
  'the new name %j is refused wherever it would begin',
  async (name) => {
    const records = [recordOf(name, 'S', 'a'), recordOf('T', name, 'b'), recordOf('T', 'S', name)];
    const { accepted, duplicates, rejected } = await ingest(records);
    expect(accepted + duplicates).toBe(1);
    expect(rejected).toMatchObject([
      { index: 0, code: 'field_invalid' },
      { index: 1, code: 'field_invalid' },
    ]);
    const calls: [string, object][] = [
      ['/tokens', { name: 'x', preset: 'pipeline', tenants: [name] }],
      ['/webhook/endpoints', { tenant: name, url: 'https://93.184.215.14/' }],
      ['/incidents', { tenant: name, type: 'incident.created', data: {} }],
      ['/enrichment/tags', { tenant: name, dataset: 'training' }],
      ['/enrichment/tags', { tenant: 'T', store: name, dataset: 'training' }],
    ];
    const policy = `/retention/policies/${encodeURIComponent(name)}`;
    const answers = [await service.call('PUT', policy, { body: { hot_days: 30 } })];
    for (const [path, body] of calls) answers.push(await service.call('POST', path, { body }));
    for (const answer of answers) {
      expect(answer.json).toMatchObject({ status: 400, code: 'request_invalid' });
      expect(answer.text).toContain('cannot be seen');
    }
  },
);

test('what is stored under such a name from before goes on: records, tokens and incidents', async () => {
  await ingest([recordOf('Old', 'S', 'a'), recordOf('Old', 'T', 'b')]);
  // As a release stored them that took such names.
  for (const table of ['leaf_tenants', 'leaf_stores', 'leaf_months', 'leaf_days'])
    await service.db.query(sql([`update ${table} set tenant = 'Old ' where tenant = 'Old'`]));
  for (const table of ['leaf_stores', 'leaf_months', 'leaf_days'])
    await service.db.query(
      sql([`update ${table} set store = E'S\\u200b' where tenant = 'Old ' and store = 'S'`]),
    );
  const records = [
    recordOf('Old ', 'S\u200b', 'c'),
    recordOf('Old ', 'S\u202e', 'd'),
    recordOf('Old ', 'New', 'e'),
    recordOf('Old ', 'New', 'e'),
    recordOf('Other ', 'S', 'f'),
  ];
  const { accepted, duplicates, rejected } = await ingest(records);
  expect({ accepted, duplicates }).toEqual({ accepted: 2, duplicates: 1 });
  expect(rejected.map(({ index }: { index: number }) => index)).toEqual([1, 4]);
  const token = { name: 'x', preset: 'pipeline', tenants: ['Old '] };
  expect((await service.call('POST', '/tokens', { body: token })).status).toBe(201);
  const incident = { tenant: 'Old ', type: 'incident.created', data: {} };
  expect((await service.call('POST', '/incidents', { body: incident })).status).toBe(202);
});
