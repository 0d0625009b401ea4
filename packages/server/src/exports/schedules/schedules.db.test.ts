import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { describe, expect, test, vi } from 'vitest';
import { madeFolder } from '../../../test/folder.ts';
import { useTestService } from '../../../test/service.ts';
import { schedulesOf } from './testing/schedules-of.ts';

const root = madeFolder();
const service = useTestService({ SVC_EXPORT_ROOTS: `${root},http://127.0.0.1:9` }, undefined, {
  waits: { exportLookMillis: 200 },
});

const { read, run, change, ...schedules } = schedulesOf(() => service);
const to = `${root}/{tenant}/{schedule}/{date}`;
const make = (body: object) => schedules.make({ to, ...body });
let stored = 0;
/** Stores as many records of a tenant, on seven days of two stores, with ids that follow on. */
async function store(tenant: string, count: number, more: object = {}) {
  const records = Array.from({ length: count }, () => {
    stored += 1;
    const day = (stored % 7) + 1;
    return {
      tenant,
      store: stored % 2 === 0 ? 'A' : 'B',
      event_id: `e${stored}`,
      occurred_at: `2001-03-0${day}T00:00:00.000000Z`,
      kind: 'k',
      enrichment: { n: stored },
      ...more,
    };
  });
  const { json } = await service.call('POST', '/enrichment/records', { body: { records } });
  expect(json.accepted).toBe(count);
  return records.map(({ event_id }) => event_id);
}
/** The event ids in the files of a folder of NDJSON, and its manifest; every file must be as that says. */
async function open(folder: string) {
  const names = await readdir(folder);
  expect(names).toContain('_SUCCESS');
  const text = await readFile(join(folder, 'manifest.json'), 'utf8');
  const sha256 = createHash('sha256').update(text).digest('hex');
  expect(await readFile(join(folder, '_SUCCESS'), 'utf8')).toBe(`${sha256}\n`);
  const manifest = JSON.parse(text);
  const ids: string[] = [];
  for (const file of manifest.files) {
    const bytes = await readFile(join(folder, file.name));
    expect(file.bytes).toBe(bytes.length);
    expect(file.sha256).toBe(createHash('sha256').update(bytes).digest('hex'));
    const lines = bytes.toString().trim().split('\n');
    expect(lines).toHaveLength(file.rows);
    ids.push(...lines.map((line) => JSON.parse(line).event_id));
  }
  const files: string[] = manifest.files.map(({ name }: { name: string }) => name);
  const own = ['_SUCCESS', 'manifest.json', ...files];
  expect(names.sort()).toEqual(own.sort());
  return { manifest, ids: ids.sort() };
}

describe('a schedule', () => {
  test('delivers each record once, however late it is stored', async () => {
    const first = await store('T', 30);
    const { id, ...made } = await make({ tenant: 'T', name: 'nightly' });
    expect(made).toMatchObject({
      state: 'waiting',
      delivered_before: null,
      last_run: null,
      access_key_id: null,
      to,
      request: { tenant: 'T' },
      due_at: expect.stringMatching(/T02:00:00/),
    });
    const one = await run(id);
    const today = new Date().toISOString().slice(0, 10);
    expect(one.delivered_to).toMatch(new RegExp(`^${root}/T/nightly/${today}/[0-9T]+Z-${one.id}$`));
    const { manifest, ids } = await open(one.delivered_to);
    expect(ids).toEqual(first.sort());
    expect(manifest).toMatchObject({
      schedule: 'nightly',
      export_id: one.id,
      tenant: 'T',
      rows: 30,
      recorded_from: null,
    });
    // Some of a day that was delivered, and one that is older than all of them.
    const second = await store('T', 9);
    const late = await store('T', 1, { occurred_at: '1999-01-01T00:00:00.000000Z' });
    const two = await open((await run(id)).delivered_to);
    expect(two.ids).toEqual([...second, ...late].sort());
    expect(two.manifest.recorded_from).toBe(manifest.recorded_before);
    // A run of nothing tells that there was nothing.
    const none = await run(id);
    expect(none.rows).toBe(0);
    expect((await open(none.delivered_to)).manifest.files).toEqual([]);
    const runs = await service.all(`/exports?schedule=${id}&limit=2`);
    expect(runs.map((each) => each.rows_total)).toEqual([0, 10, 30]);
    expect(runs[0]).toMatchObject({ schedule: { id, name: 'nightly' }, state: 'completed' });
  });

  test('delivers records that were moved to the cold tier since they were stored', async () => {
    await store('C', 20);
    const { id } = await make({ tenant: 'C', format: 'ndjson' });
    await run(id);
    const late = await store('C', 11);
    await service.retain({ tenant: 'C' });
    const [left] = await service.db.query<{ count: number }>(
      sql`select count(*) as count from enrichment_records where tenant = 'C'`,
    );
    expect(left?.count).toBe(0);
    expect((await open((await run(id)).delivered_to)).ids).toEqual(late.sort());
    expect((await run(id)).rows).toBe(0);
  });

  test('delivers only what it is for, and what is stored from its beginning on if asked so', async () => {
    await store('W', 10);
    const { id } = await make({ tenant: 'W', where: 'big = true', starts: 'now' });
    expect((await run(id)).rows).toBe(0);
    await store('W', 5);
    const big = await store('W', 3, { enrichment: { big: true } });
    expect((await open((await run(id)).delivered_to)).ids).toEqual(big.sort());
  });

  test.each(['csv', 'parquet'])('delivers whole files of %s', async (format) => {
    const ids = await store(`F-${format}`, 12);
    const { id } = await make({ tenant: `F-${format}`, format });
    const { delivered_to: folder } = await run(id);
    const { DuckDBInstance } = await import('@duckdb/node-api');
    const duckdb = await (await DuckDBInstance.create()).connect();
    const rows = await duckdb.runAndReadAll(
      `select event_id from read_${format}('${folder}/part-*.${format}') order by event_id`,
    );
    expect(rows.getRows().map(([own]) => own)).toEqual(ids.sort());
  });

  test('that is paused begins no run by itself, and one run makes up for what it missed', async () => {
    const { id } = await make({ tenant: 'P', cron: '* * * * *' });
    const paused = await change(id, { enabled: false });
    expect(paused.json).toMatchObject({ state: 'paused', due_at: null });
    await store('P', 4);
    expect((await run(id)).rows).toBe(4);
    expect(await read(id)).toMatchObject({ state: 'paused', due_at: null });
    await store('P', 5);
    const { due_at: due } = (await change(id, { enabled: true, cron: '0 5 * * *' })).json;
    expect(due).toMatch(/T05:00:00/);
    // A service that was away over three of its times.
    await service.db.query(
      sql`update export_schedules set due_at = now() - interval '3 days' where id = ${id}`,
    );
    await vi.waitUntil(async () => (await read(id)).last_run.rows === 5, { timeout: 60_000 });
    await vi.waitUntil(async () => (await read(id)).state === 'waiting', { timeout: 60_000 });
    expect((await read(id)).due_at).toBe(due);
    expect(await service.all(`/exports?schedule=${id}&limit=50`)).toHaveLength(2);
  });

  test('that was deleted is not there any more, and its name is free', async () => {
    const { id } = await make({ tenant: 'D', name: 'same' });
    const again = await schedules.ask({ to, tenant: 'D', name: 'same' });
    expect(again.json.code).toBe('schedule_name_taken');
    expect((await service.call('DELETE', `/exports/schedules/${id}`)).status).toBe(204);
    expect((await read(id)).code).toBe('schedule_not_found');
    await make({ tenant: 'D', name: 'same' });
    expect(await service.all('/exports/schedules?tenant=D')).toHaveLength(1);
  });
});

describe('a schedule is refused', () => {
  const refused = async (body: object) => {
    const count = sql`select count(*) as count from export_schedules`;
    const before = await service.db.query(count);
    const answer = await schedules.ask({ tenant: 'R', to, ...body });
    expect(answer.status, answer.text).toBe(400);
    expect(await service.db.query(count)).toEqual(before);
    const [error] = answer.json.errors ?? [{ path: null, message: answer.json.detail }];
    return [answer.json.code, error.path, error.message];
  };
  const bucket = 's3://acme/x?region=eu-central-1';
  const keys = { access_key_id: 'A', secret_access_key: 'S' };
  test.each([
    [{ cron: 'daily' }, '/cron', /five fields/],
    [{ cron: '0 0 30 2 *' }, '/cron', /no date ever fits/],
    [{ to: 'relative/folder' }, '/to', /neither s3/],
    [{ to: `${root}/{month}` }, '/to', /placeholder \{month\}; there are \{tenant\}/],
    [{ to: bucket }, '/credentials', /needs them/],
    [{ to: 's3://acme/x' }, '/to', /region/],
    [{ to: 's3://acme/x?region=a.evil.example/' }, '/to', /region that is none/],
    [{ to: 's3://a@acme/x?region=x' }, '/to', /credentials/],
    [{ credentials: { access_key_id: 'A', secret_access_key: 'S' } }, '/credentials', /S3 alone/],
    [{ where: 'big = ' }, '/where', /./],
    [{ format: 'parquet', compression: 'gzip' }, '/compression', /Parquet/],
    [{ header: true }, '/header', /CSV/],
    [{ name: 'a/b' }, '/name', /./],
    [{ to: `${bucket.slice(0, 11)}y//z?region=x`, credentials: keys }, '/to', /empty segment/],
    [{ tenant: '.tmp', to: `${root}/{tenant}` }, '/to', /begins with \.tmp/],
    [{ tenant: '_svcctl-store', to: `${root}/{tenant}/x` }, '/to', /begins with _svcctl-store/],
    [{ tenant: '..', to: `${root}/x/{tenant}` }, '/tenant', /must be/],
    [{ to: `${root}/${'x'.repeat(255)}{tenant}` }, '/to', /longer than 255 bytes/],
  ])('with %j', async (body, path, message) => {
    expect(await refused(body)).toEqual(['request_invalid', path, expect.stringMatching(message)]);
  });

  test('for a folder or a server that the settings do not list', async () => {
    for (const to of ['/etc/exports', `${root}-beside/x`, `${root}/../x`]) {
      const [code, , detail] = await refused({ to });
      expect([code, detail]).toEqual(['export_target_refused', expect.stringContaining(root)]);
    }
    const credentials = { access_key_id: 'A', secret_access_key: 'S' };
    const to = 's3://acme/x?endpoint=http://169.254.169.254';
    const [code, , detail] = await refused({ to, credentials });
    expect([code, detail]).toEqual(['export_target_refused', expect.stringContaining('169.254')]);
  });

  test('when its place cannot be used', async () => {
    await writeFile(join(root, 'file'), '');
    // Only where a run would write is there anything to find.
    for (const to of [`${root}/file/x`, `${root}/file`, `${root}/{schedule}`]) {
      const [code, , detail] = await refused({ to, name: 'file' });
      expect([code, detail]).toEqual([
        'export_target_unusable',
        expect.stringContaining('a file stands where a folder'),
      ]);
    }
    const credentials = { access_key_id: 'A', secret_access_key: 'S' };
    const to = 's3://acme/x?endpoint=http://127.0.0.1:9';
    const [away, , why] = await refused({ to, credentials });
    expect([away, why]).toEqual([
      'export_target_unusable',
      expect.stringContaining('ECONNREFUSED'),
    ]);
  });
});

test('a place is tried without leaving anything behind', async () => {
  await mkdir(join(root, 'tried'));
  await make({ tenant: 'Q', to: `${root}/tried/{tenant}/{date}` });
  expect(await readdir(join(root, 'tried'))).toEqual([]);
});
