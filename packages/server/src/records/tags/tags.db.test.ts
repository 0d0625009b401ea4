import sql from 'sql-template-tag';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { useTestService } from '../../../test/service.ts';
import { lockQueue } from '../../exports/jobs/queries.ts';
import { storeRecords } from '../ingest/testing/post-records.ts';

const service = useTestService();
let curator: string;
beforeAll(async () => {
  curator = (await service.makeToken({ preset: 'curator', name: 'curator' })).token;
  const records = ['CA', 'TX'].flatMap((tenant) =>
    ['A', 'B'].flatMap((store) =>
      ['2001-01-01', '2001-01-31', '2001-02-10', '2001-03-01'].map((day) => ({
        tenant,
        store,
        event_id: 'e',
        occurred_at: `${day}T12:00:00Z`,
        enrichment: {},
      })),
    ),
  );
  await storeRecords(service, records);
});
beforeEach(() => service.db.query(sql`truncate tags, audit_log`));

const path = '/enrichment/tags';
const tag = (body: object, token = curator) =>
  service.call('POST', path, { token, body: { tenant: 'TX', dataset: 'training', ...body } });
const list = async (query = '') => (await service.call('GET', `${path}?${query}`)).json;
const idsOf = (page: { data: { id: string }[] }) => page.data.map(({ id }) => id);
const storedIds = async () =>
  (await service.db.query<{ id: string }>(sql`select id from tags order by id`)).map(
    ({ id }) => id,
  );
const byText = (a: unknown, b: unknown) => (String(a) < String(b) ? -1 : 1);
const auditLog = () =>
  service.db.query(
    sql`select action, target, tenant, token_name, before, after from audit_log order by at, id`,
  );

describe('refusals', () => {
  test.each([
    [{ dataset: 'testing' }, '/dataset'],
    [{ dataset: undefined }, '/dataset'],
    [{ tenant: undefined }, '/tenant'],
    [{ tenant: 'a/b' }, '/tenant'],
    [{ from: '2001-01-01' }, '/to'],
    [{ to: '2001-01-01' }, '/from'],
    [{ from: '2001-01-02', to: '2001-01-01' }, '/from'],
    [{ from: '2001-02-30', to: '2001-03-01' }, '/from'],
    [{ month: '2001-01', from: '2001-01-01', to: '2001-01-02' }, '/month'],
    [{ note: 'x'.repeat(1001) }, '/note'],
    [{ note: 'a\u0000b' }, '/note'],
    [{ kind: 'x' }, '/kind'],
    [{ dry_run: 'yes' }, '/dry_run'],
  ])('refuses the tag %j', async (body, at) => {
    const answer = await tag(body);
    expect(answer.json).toMatchObject({ status: 400, errors: [{ path: at }] });
    expect(await storedIds()).toEqual([]);
  });

  test.each([
    `${path}?limit=0`,
    `${path}?name=x`,
    `${path}?from=2001-01-01`,
    `${path}?cursor=abc`,
    '/enrichment/days',
    '/enrichment/days?tenant=TX&limit=4001',
    '/enrichment/days?tenant=TX&month=2001-13',
    '/enrichment/days?tenant=TX&cursor=abc',
  ])('refuses %s', async (at) => {
    expect((await service.call('GET', at)).status).toBe(400);
  });

  test('a window is tagged once for each dataset', async () => {
    const { id } = (await tag({ month: '2001-01' })).json;
    for (const more of [{}, { dry_run: true }, { note: 'other' }]) {
      const again = await tag({ from: '2001-01-01', to: '2001-01-31', ...more });
      expect(again.json).toMatchObject({ status: 409, code: 'tag_exists' });
      expect(again.json.detail).toContain(id);
    }
    expect((await tag({ month: '2001-01', dataset: 'fine_tuning' })).status).toBe(201);
    expect((await tag({ month: '2001-01', store: 'A' })).status).toBe(201);
  });

  test('the same window sent many times at once is tagged once', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => tag({ store: 'A' })));
    expect(answers.map(({ status }) => status).sort(byText)).toEqual([201, ...Array(7).fill(409)]);
  });

  test('a tenant has a thousand tags at most, however many are sent at once', async () => {
    await service.db.query(sql`
      insert into tags (tenant, id, store, dataset, created_by)
      select 'TX', 'tag_' || n, 'store ' || n, 'training', 'test' from generate_series(1, 998) n`);
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, n) => tag({ from: `2001-01-0${n + 1}`, to: '2001-02-01' })),
    );
    expect(answers.map(({ status }) => status).sort(byText)).toEqual([
      201, 201, 409, 409, 409, 409,
    ]);
    const full = await tag({ dry_run: true });
    expect(full.json).toMatchObject({ status: 409, code: 'tags_full' });
    expect((await tag({ tenant: 'CA' })).status).toBe(201);
  });
});

test('a tag tells what is in its window, and is on record', async () => {
  const made = await tag({ store: 'A', month: '2001-01', note: 'a quarter' });
  expect(made.status).toBe(201);
  const leaf = await service.call('GET', '/enrichment/datasets?tenant=TX&store=A&month=2001-01');
  const { warnings, ...rest } = made.json;
  expect(warnings).toEqual([]);
  expect(rest).toEqual({
    id: expect.stringMatching(/^tag_/),
    tenant: 'TX',
    store: 'A',
    from: '2001-01-01',
    to: '2001-01-31',
    dataset: 'training',
    note: 'a quarter',
    count: 2,
    bytes: leaf.json.data[0].bytes,
    created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
    created_by: 'curator',
  });
  expect((await list()).data).toEqual([rest]);
  const gone = await service.call('DELETE', `${path}/${rest.id}`, { token: curator });
  expect([gone.status, gone.text]).toEqual([204, '']);
  expect((await list()).data).toEqual([]);
  expect((await service.call('DELETE', `${path}/${rest.id}`)).status).toBe(404);
  const { count: _count, bytes: _bytes, ...stored } = rest;
  const entry = { target: rest.id, tenant: 'TX', token_name: 'curator' };
  expect(await auditLog()).toEqual([
    { ...entry, action: 'tag.create', before: null, after: stored },
    { ...entry, action: 'tag.delete', before: stored, after: null },
  ]);
});

test('a dry run tells the same and changes nothing', async () => {
  await tag({ dataset: 'fine_tuning', month: '2001-01' });
  const before = [await storedIds(), await auditLog()];
  const dry = await tag({ store: 'B', dry_run: true });
  expect(dry.status).toBe(200);
  expect([await storedIds(), await auditLog()]).toEqual(before);
  const made = await tag({ store: 'B' });
  expect(dry.json).toMatchObject({ id: null, count: 4, created_by: 'curator' });
  expect({ ...dry.json, id: 0, created_at: 0, warnings: [] }).toEqual({
    ...made.json,
    id: 0,
    created_at: 0,
    warnings: [],
  });
  expect([dry, made].map(({ json }) => json.warnings[0].count)).toEqual([2, 2]);
});

test('a warning counts the records that the tag puts in both datasets, each once', async () => {
  expect(
    (await tag({ dataset: 'fine_tuning', store: 'A', month: '2001-01' })).json.warnings,
  ).toEqual([]);
  await tag({ dataset: 'fine_tuning', from: '2001-01-31', to: '2001-02-10' });
  // Of store A the 1st and 31st of January and the 10th of February, of B the last two.
  const both = (await tag({})).json;
  expect(both).toMatchObject({ count: 8, from: null, to: null });
  expect(both.warnings).toEqual([
    { code: 'in_both_datasets', message: expect.stringContaining('5 records'), count: 5 },
  ]);
  const row = (await service.call('GET', '/enrichment/datasets?tenant=TX&level=tenant')).json;
  expect(row.data[0]).toMatchObject({
    count: 8,
    covered: 8,
    coverage: 1,
    by_dataset: { training: 8, fine_tuning: 5 },
  });
  const store = (await tag({ store: 'B', from: '2001-02-01', to: '2001-03-31' })).json;
  expect(store).toMatchObject({ count: 2, warnings: [{ count: 1 }] });
  expect((await tag({ month: '2001-03' })).json.warnings).toEqual([]);
  expect((await tag({ tenant: 'CA' })).json.warnings).toEqual([]);
});

test('tags are listed latest first, over pages, by whom and what they touch', async () => {
  const ids: string[] = [];
  for (const body of [
    {},
    { store: 'A' },
    { store: 'B', month: '2001-02' },
    { from: '2001-01-31', to: '2001-02-01', dataset: 'fine_tuning' },
    { tenant: 'CA', month: '2001-01' },
  ]) {
    ids.unshift((await tag(body)).json.id);
  }
  const pick = (...places: number[]) => places.map((place) => ids[ids.length - 1 - place]);
  expect(idsOf(await list())).toEqual(ids);
  const first = await list('limit=2');
  const second = await list(`limit=2&cursor=${first.next_cursor}`);
  const third = await list(`limit=2&cursor=${second.next_cursor}`);
  expect([first, second, third].flatMap(idsOf)).toEqual(ids);
  expect(third.next_cursor).toBeNull();
  const foreign = await service.call('GET', `${path}?tenant=TX&cursor=${first.next_cursor}`);
  expect(foreign.json.code).toBe('cursor_invalid');
  for (const [query, places] of [
    ['tenant=TX', [3, 2, 1, 0]],
    ['dataset=fine_tuning', [3]],
    ['tenant=TX&store=A', [3, 1, 0]],
    ['tenant=TX&month=2001-02', [3, 2, 1, 0]],
    ['tenant=TX&from=2001-02-02&to=2001-02-28', [2, 1, 0]],
    ['month=2001-01', [4, 3, 1, 0]],
    ['tenant=TX&month=2001-03&dataset=training', [1, 0]],
  ] as const) {
    expect(idsOf(await list(query)), query).toEqual(pick(...places));
  }
});

test('days are listed page by page with what is tagged of them', async () => {
  await tag({ month: '2001-01' });
  const days = await service.call('GET', '/enrichment/days?tenant=TX&limit=1');
  expect(days.json.data).toEqual([
    {
      day: '2001-01-01',
      count: 2,
      bytes: expect.any(Number),
      tier: 'hot',
      covered: 2,
      by_dataset: { training: 2, fine_tuning: 0 },
    },
  ]);
  const next = `/enrichment/days?tenant=TX&limit=1&cursor=${days.json.next_cursor}`;
  expect((await service.call('GET', next)).json.data[0].day).toBe('2001-01-31');
  const other = `/enrichment/days?tenant=TX&store=A&cursor=${days.json.next_cursor}`;
  expect((await service.call('GET', other)).json.code).toBe('cursor_invalid');
});

test('a tag is made while exports of its tenant wait to be queued', async () => {
  await service.db.transaction(async (connection) => {
    await lockQueue(connection, 'TX');
    expect((await tag({})).status).toBe(201);
  });
});
