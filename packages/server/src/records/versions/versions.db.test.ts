import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { useTestService } from '../../../test/service.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { numberedRecords, storeRecords } from '../ingest/testing/post-records.ts';
import type { DatasetName } from '../values.ts';
import type { Version } from '../versions.contract.ts';
import { addTag, freezeVersion, type TestTag } from './testing/freeze-version.ts';

const service = useTestService();

const path = '/enrichment/dataset-versions';

const record = (n: number, more: object = {}) => ({
  store: n % 2 === 0 ? 'DFW' : 'ORD',
  occurred_at: `2025-03-0${1 + (n % 3)}T10:00:00Z`,
  ...more,
});
const seed = (tenant: string, count: number, more: object = {}) =>
  storeRecords(
    service,
    numberedRecords(tenant, count, (n) => record(n, more)),
  );
const tag = (tenant: string, { dataset, ...days }: TestTag & { dataset?: DatasetName } = {}) =>
  addTag(service.db, tenant, days, dataset);

const freeze = (tenant: string, more: object = {}) =>
  service.call('POST', path, { body: { tenant, dataset: 'training', name: 'v1', ...more } });

/** The version once it is counted. */
async function counted(id: string): Promise<Version> {
  const find = async (): Promise<Version> => (await service.call('GET', `${path}/${id}`)).json;
  await expect.poll(find, { timeout: 120_000 }).not.toMatchObject({ state: 'counting' });
  return find();
}

const audited = async (action: string) =>
  service.db.query(sql`select tenant, target from audit_log where action = ${action}`);

const shares = { train: 80, validation: 10, test: 10 };
test.each([
  [{ shares: { ...shares, test: 11 } }, '/shares'],
  [{ group_by: 'a' }, '/group_by'],
  [{ shares, group_by: 'a b' }, '/group_by'],
  [{ shares, group_by: 'bytes' }, '/group_by'],
  [{ where: 'score >' }, '/where'],
])('answers 400 to %j', async (more, at) => {
  expect((await freeze('T', more)).json).toMatchObject({ status: 400, errors: [{ path: at }] });
});

test('a version with a where is counted with it, and exported with it', async () => {
  await seed('narrowed', 20, { enrichment: { label: 'a' } });
  await storeRecords(
    service,
    numberedRecords('narrowed', 12, (n) =>
      record(n, { event_id: `b${n}`, enrichment: { label: 'b' } }),
    ),
  );
  await tag('narrowed');
  const made: Version = (await freeze('narrowed', { where: 'label = "b"' })).json;
  expect(made).toMatchObject({ where: 'label = "b"', count: null, bytes: null, digest: null });
  const version = await counted(made.id);
  expect(version).toMatchObject({
    state: 'ready',
    count: 12,
    current: { count: 12 },
    change: null,
  });
  const body = { tenant: 'narrowed', version: made.id };
  const refused = await service.call('POST', '/exports/csv', { body });
  expect(refused.json.errors).toMatchObject([{ path: '/version' }]);
  for (const [where, rows] of [
    [undefined, 12],
    ['event_id in ("b1", "b2")', 2],
  ] as const) {
    const { json } = await service.call('POST', '/exports/csv', {
      body: { ...body, where },
      headers: { prefer: 'respond-async' },
    });
    const job = async () => (await service.call('GET', `/exports/${json.id}`)).json;
    await expect.poll(job, { timeout: 120_000 }).toMatchObject({ state: 'completed' });
    expect(await job()).toMatchObject({ rows_done: rows });
  }
});

test('records of a group are in one split, and the version says that the shares are off', async () => {
  await seed('grouped', 40, { enrichment: { camera: 'c' } });
  await tag('grouped');
  const { id } = (await freeze('grouped', { shares, group_by: 'camera' })).json;
  const version = await counted(id);
  expect(version).toMatchObject({ state: 'ready', group_by: 'camera', ungrouped: 0 });
  const counts = Object.values(version.splits ?? {}).map(({ count }) => count);
  expect(counts.sort((a, b) => a - b)).toEqual([0, 0, 40]);
  expect(version.warnings).toHaveLength(1);
  expect(version.warnings[0]).toMatch(
    /has 100\.0 % instead of \d+ %.*groups by camera are kept whole/,
  );
  const none = (await freeze('grouped', { name: 'v2', shares, group_by: 'camra' })).json;
  const { warnings, ungrouped } = await counted(none.id);
  expect(ungrouped).toBe(40);
  expect(warnings.at(-1)).toMatch(/^No record has a value at camra/);
});

test('answers 409 where no record is tagged', async () => {
  await seed('empty', 3);
  await tag('empty', { dataset: 'fine_tuning' });
  await tag('empty', { from: '2025-04-01', to: '2025-04-30' });
  const answer = await freeze('empty');
  expect([answer.status, answer.json.code]).toEqual([409, 'dataset_empty']);
});

test('records are stored while a version is summed and cut, and are not in it', async () => {
  await seed('busy', 6);
  await tag('busy');
  // The windows of the tags are the first of what is read of the frozen slice.
  const db = beforeStatement(service.db, /until\s+from tags/, () =>
    seed('busy', 2, { store: 'LATE' }),
  );
  const { id, count } = await freezeVersion(db, 'busy');
  expect(count).toBe(6);
  // One that is frozen by the API has all counted now, and not at the next look.
  await freeze('busy', { name: 'v2' });
  // Its digest too: read from content, which has two records more by now.
  expect(await counted(id)).toMatchObject({ state: 'ready', current: { count: 6 } });
});

/** The database, with something done before a statement is run on a connection that was lent. */
function beforeStatement(db: Database, text: RegExp, act: () => Promise<void>): Database {
  return {
    ...db,
    withConnection: (work) =>
      db.withConnection((connection) =>
        work({
          ...connection,
          async query(statement) {
            if (text.test(statement.text)) await act();
            return connection.query(statement);
          },
        }),
      ),
  };
}

test('answers 404 to what is no version', async () => {
  for (const id of ['ver_none', '%00', 'a%20b']) {
    const answer = await service.call('GET', `${path}/${id}`);
    expect([answer.status, answer.json.code]).toEqual([404, 'version_not_found']);
  }
});

test('a version is what was tagged, whatever is tagged, untagged or stored later', async () => {
  await seed('frozen', 30);
  await tag('frozen', { store: 'DFW', from: '2025-03-01', to: '2025-03-02' });
  await tag('frozen', { from: '2025-03-02', to: '2025-03-02' });
  await tag('frozen', { dataset: 'fine_tuning' });
  const answer = await freeze('frozen', { shares, note: 'first' });
  expect(answer.status).toBe(201);
  const made: Version = answer.json;
  expect(made).toMatchObject({ state: 'counting', count: 15, name: 'v1', note: 'first' });
  expect(made.slices).toMatchObject([
    { store: 'DFW', from: '2025-03-01', to: '2025-03-02', note: null },
    { store: null, from: '2025-03-02', to: '2025-03-02', note: null },
  ]);
  await service.db.query(sql`delete from tags where tenant = 'frozen'`);
  await seed('frozen', 1, { event_id: 'late', occurred_at: '2025-03-02T11:00:00Z' });
  const version = await counted(made.id);
  const { count, bytes, digest } = version;
  expect(version).toMatchObject({ state: 'ready', error: null, change: null, changed_at: null });
  expect(version.current).toEqual({ count, bytes, digest });
  const { train, validation, test: tested } = version.splits ?? {};
  expect((train?.count ?? 0) + (validation?.count ?? 0) + (tested?.count ?? 0)).toBe(15);
  const sum =
    [train, validation, tested].reduce((all, split) => all + BigInt(`0x${split?.digest}`), 0n) %
    (1n << 64n);
  expect(sum.toString(16).padStart(16, '0')).toBe(digest);
  expect(await audited('version.create')).toContainEqual({ tenant: 'frozen', target: made.id });
});

test('answers 409 to a name that is taken, and takes it again once it is free', async () => {
  await seed('names', 3);
  await tag('names');
  const { id } = (await freeze('names')).json;
  const answer = await freeze('names');
  expect([answer.status, answer.json.code]).toEqual([409, 'version_name_taken']);
  expect((await service.call('DELETE', `${path}/${id}`)).status).toBe(204);
  expect((await service.call('DELETE', `${path}/${id}`)).status).toBe(404);
  expect((await freeze('names')).status).toBe(201);
  expect(await audited('version.delete')).toEqual([{ tenant: 'names', target: id }]);
  const windows = await service.db.query(
    sql`select version_id from dataset_version_windows where version_id = ${id}`,
  );
  expect(windows).toEqual([]);
});

test('of two that take a name at once one gets it', async () => {
  await seed('twice', 3);
  await tag('twice');
  const answers = await Promise.all([freeze('twice'), freeze('twice'), freeze('twice')]);
  expect(answers.map(({ status }) => String(status)).sort()).toEqual(['201', '409', '409']);
});

test('versions are listed the latest first, page by page', async () => {
  await seed('listed', 3);
  await tag('listed');
  await tag('listed', { dataset: 'fine_tuning' });
  const ids: string[] = [];
  for (const n of [1, 2, 3, 4, 5]) {
    const dataset = n === 3 ? 'fine_tuning' : 'training';
    ids.unshift((await freeze('listed', { name: `v${n}`, dataset })).json.id);
  }
  const seen: Version[] = await service.all(`${path}?tenant=listed&limit=2`);
  expect(seen.map(({ id }) => id)).toEqual(ids);
  const tuned = await service.call('GET', `${path}?tenant=listed&dataset=fine_tuning`);
  expect(tuned.json.data).toMatchObject([{ id: ids[2] }]);
  const first = await service.call('GET', `${path}?tenant=listed&limit=2`);
  const other = await service.call('GET', `${path}?limit=2&cursor=${first.json.next_cursor}`);
  expect(other.json.code).toBe('cursor_invalid');
});

test('windows without end reach from the first to the last day with records', async () => {
  await seed('open', 3);
  await tag('open');
  await tag('open', { store: 'ORD', from: '2025-03-02' });
  const { id } = (await freeze('open')).json;
  const windows = await service.db.query(sql`
    select store, first_day, until from dataset_version_windows where version_id = ${id}`);
  expect(windows).toEqual([{ store: null, first_day: '2025-03-01', until: '2025-03-04' }]);
});

test('a run of retention deletes what a version keeps only when told', async () => {
  await seed('kept', 6);
  await tag('kept', { from: '2025-03-01', to: '2025-03-01' });
  const { id } = (await freeze('kept')).json;
  await counted(id);
  await service.call('PUT', '/retention/policies/kept', { body: { hot_days: 0, delete_days: 1 } });
  const run = (more: object) => service.retain({ tenant: 'kept', ...more });
  expect(await run({})).toMatchObject({ state: 'completed', deleted_count: 4, kept_count: 2 });
  expect(await counted(id)).toMatchObject({ change: null });
  expect(await run({ delete_versioned: true })).toMatchObject({ deleted_count: 2, kept_count: 0 });
  await seed('other', 1);
  await tag('other');
  await freeze('other');
  expect(await counted(id)).toMatchObject({ change: 'deleted', current: { count: 0 } });
});
