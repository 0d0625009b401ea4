import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import pino from 'pino';
import sql, { raw } from 'sql-template-tag';
import { expect, test, vi } from 'vitest';
import { useFolder } from '../../test/folder.ts';
import { answer, startReceiver, useReceiver } from '../../test/receiver.ts';
import { startTestService, type TestService } from '../../test/service.ts';
import { tablesWith } from '../../test/table-files.ts';
import { use } from '../../test/use.ts';
import { makeRoot } from '../access/testing/make-root.ts';
import { createDuckDb, literal } from '../platform/duckdb.ts';
import { createLog } from '../platform/log.ts';
import { backUp } from './backup.ts';
import { optionsFor, toolsFor, untilMoved } from './testing/backups.ts';

const folder = useFolder('once');
const receiver = useReceiver('once');
// A service with everything in its folder, so that all files can be searched, and with all that it logs and traces kept.
const world = use(
  async () => {
    const collector = await startReceiver();
    const logged: string[] = [];
    const log = pino({ level: 'debug' }, { write: (line: string) => void logged.push(line) });
    const settings = {
      SVC_COLD_GRACE_SECONDS: '0',
      SVC_ALLOW_TARGETS: '127.0.0.0/8',
      SVC_AUDIT_READS: 'on',
      SVC_FOUR_EYES: 'erase',
      SVC_EXPORT_ROOTS: folder.path,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url('/'),
    };
    const service = await startTestService(settings, log);
    return { service, collector, logged };
  },
  async ({ service, collector }) => {
    await service.stop();
    await collector.close();
  },
);
const call: TestService['call'] = (...given) => world.service.call(...given);
const duckdb = use(
  async () =>
    createDuckDb({
      memoryBytes: 256 * 2 ** 20,
      threads: 1,
      niceness: 0,
      log: createLog('silent'),
      tempDir: join(folder.path, 'duckdb'),
    }),
  (opened) => opened.close(),
);

/** What tells of the person: a value, what stands beside it, and the id of an event. */
const traces = ['kim-4711', 'beside-of-kim', 'event-of-kim'];
const hasTrace = (text: string) => traces.some((trace) => text.includes(trace));

/** The tables that have a trace, in text or in bytes. */
async function searchTables(): Promise<string[]> {
  const tables = await world.service.db.query<{ name: string }>(sql`
    select oid::regclass::text as name from pg_class
    where relkind = 'r' and relnamespace = 'public'::regnamespace order by 1`);
  const found: string[] = [];
  for (const { name } of tables) {
    const rows = await world.service.db.query<{ row: string }>(
      sql`select one::text as row from ${raw(name)} one`,
    );
    const inBytes = (row: string) =>
      [...row.matchAll(/\\x([0-9a-f]+)/g)].some(([, hex = '']) =>
        hasTrace(String(Buffer.from(hex, 'hex'))),
      );
    if (rows.some(({ row }) => hasTrace(row) || inBytes(row))) found.push(name);
  }
  return found;
}

/** The files below a folder that have a trace in their names or bytes, or in the rows of Parquet. */
async function searchFiles(root: string): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const text = hasTrace(path) || hasTrace(await textOf(path));
    if (text || (path.endsWith('.parquet') && hasTrace(await rowsOf(path)))) found.push(path);
  }
  return found;
}

/** What stands in a file, unpacked; nothing where it was removed meanwhile. */
async function textOf(path: string): Promise<string> {
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return Buffer.alloc(0);
    throw error;
  });
  return (path.endsWith('.br') ? brotliDecompressSync(bytes) : bytes).toString('latin1');
}

async function rowsOf(path: string): Promise<string> {
  const rows = await duckdb
    .run<{ row: string }>(
      `select one::varchar as row from read_parquet(${literal(path)}, hive_partitioning = false) one`,
    )
    .catch((error: unknown) => {
      if (existsSync(path)) throw error;
      return [];
    });
  return rows.map(({ row }) => row).join('\n');
}

/** The answers that tell of a trace. */
async function searchAnswers(exports: readonly string[]): Promise<string[]> {
  const paths = [
    '/enrichment/records?tenant=P&limit=100',
    '/enrichment/fields?tenant=P',
    '/incidents?tenant=P',
    '/webhook/deliveries?tenant=P',
    '/webhook/dlq?status=abandoned&tenant=P',
    '/retention/moves?tenant=P',
    '/audit?limit=500',
    '/exports?limit=100',
    '/exports/schedules?limit=100',
    '/enrichment/dataset-versions?limit=100',
    '/webhook/endpoints?limit=100',
    '/jobs?limit=100',
    '/stats/overview',
    ...exports.map((id) => `/exports/${id}/file`),
  ];
  const found: string[] = [];
  for (const path of paths) if (hasTrace((await call('GET', path)).text)) found.push(path);
  const body = { tenant: 'P' };
  const streamed = await call('POST', '/exports/ndjson', { body });
  expect(streamed.status).toBe(200);
  if (hasTrace(streamed.text)) found.push('/exports/ndjson');
  for (const each of (await call('GET', '/incidents?tenant=P')).json.data) {
    if (hasTrace((await call('GET', `/incidents/${each.id}`)).text)) found.push(each.id);
  }
  for (const each of (await call('GET', '/webhook/deliveries?tenant=P')).json.data) {
    if (hasTrace((await call('GET', `/webhook/dlq/${each.id}`)).text)) found.push(each.id);
  }
  return found;
}

/** Asks for an erasure that somebody else then confirms. Returns its receipt. */
async function erase(token: string, body: object) {
  const asked = await call('POST', '/enrichment/erase', { token, body });
  expect([asked.status, asked.json.code], asked.text).toEqual([403, 'approval_required']);
  expect(await searchTables()).toContain('approvals');
  const done = await call('POST', `/approvals/${asked.json.approval_id}/confirm`);
  expect(done.status, done.text).toBe(200);
  return done.json.answer as { remains: { what: string; note: string }[] };
}

const search = async (exports: readonly string[]) => ({
  tables: await searchTables(),
  files: await searchFiles(world.service.dataDir),
  answers: await searchAnswers(exports),
  logs: world.logged.filter(hasTrace),
  traces: world.collector.requests.filter(({ body }) => hasTrace(body)).map(({ body }) => body),
});

const record = (event_id: string, day: string, enrichment: object) => ({
  tenant: 'P',
  store: 's',
  event_id,
  occurred_at: `${day}T12:00:00Z`,
  enrichment,
});
const ofKim = { person: { id: 'kim-4711' }, note: 'beside-of-kim' };
const ofOther = { person: { id: 'ada' } };

test('a person who was erased is in no table, file, answer, log, trace or later backup', async () => {
  const ingest = (...records: object[]) =>
    call('POST', '/enrichment/records', { body: { records } });
  await ingest(record('event-of-kim-1', '2020-02-28', ofKim), record('e1', '2020-02-28', ofOther));
  await untilMoved(world.service, '2020-03-01');
  const today = new Date().toISOString().slice(0, 10);
  await ingest(record('event-of-kim-2', today, ofKim), record('e2', today, ofOther));

  receiver.behave(() => answer(500, { body: 'I do not know kim-4711' }));
  const endpoint = { tenant: 'P', url: receiver.url(), event_types: ['*'], max_attempts: 1 };
  await call('POST', '/webhook/endpoints', { body: endpoint });
  const incident = {
    tenant: 'P',
    type: 'incident.created',
    data: ofKim,
    idempotency_key: 'kim-4711',
  };
  await call('POST', '/incidents', { body: incident });
  await receiver.waitFor(1);
  const where = 'person.id = "kim-4711"';
  const exports: string[] = [];
  for (const format of ['csv', 'ndjson', 'parquet']) {
    const headers = { prefer: 'respond-async' };
    const { json } = await call('POST', `/exports/${format}`, { headers, body: { tenant: 'P' } });
    exports.push(json.id);
  }
  // What names the person while somebody looks at them.
  const selected = { tenant: 'P', where };
  const job = await call('POST', '/exports/csv', {
    headers: { prefer: 'respond-async' },
    body: selected,
  });
  expect(job.status, job.text).toBe(202);
  exports.push(job.json.id);
  const counted = await call('POST', '/enrichment/records/count', { body: selected });
  expect(counted.status, counted.text).toBe(202);
  const { headers } = await world.service.signIn();
  for (const path of ['/enrichment/records', '/enrichment/fields', '/enrichment/records/count'])
    await call('GET', `${path}?tenant=P&where=${encodeURIComponent(where)}`, {
      token: null,
      headers,
    });
  const key = `tenant=P&store=s&occurred_at=${today}T12:00:00Z&event_id=event-of-kim-2`;
  const one = await call('GET', `/enrichment/records/one?${key}`, { token: null, headers });
  expect(one.status, one.text).toBe(200);
  for (const filter of [
    `where=${encodeURIComponent(where)}`,
    'event_id=event-of-kim-2',
    'store=s',
  ]) {
    const address = `#/records?tenant=P&${filter}`;
    const { status } = await call('PUT', `/views/${filter.slice(0, 5)}`, { body: { address } });
    expect(status).toBe(200);
  }
  const asked = [
    call('POST', '/exports/schedules', {
      body: {
        ...selected,
        name: 'nightly',
        cron: '0 2 * * *',
        format: 'ndjson',
        to: join(folder.path, 'delivered'),
      },
    }),
    call('POST', '/webhook/endpoints', {
      body: { ...endpoint, event_types: ['other.kind'], where: 'data.person.id = "kim-4711"' },
    }),
  ];
  const days = { dataset: 'training', from: '2020-02-28', to: today };
  await call('POST', '/enrichment/tags', { body: { tenant: 'P', ...days } });
  asked.push(
    call('POST', '/enrichment/dataset-versions', {
      body: { ...selected, dataset: 'training', name: 'v1' },
    }),
  );
  const [schedule, filtering, version] = await Promise.all(asked);
  const going = [
    `/exports/schedules/${schedule?.json.id}`,
    `/webhook/endpoints/${filtering?.json.id}`,
    `/enrichment/dataset-versions/${version?.json.id}`,
  ];
  const states = async () =>
    Promise.all(exports.map(async (id) => (await call('GET', `/exports/${id}`)).json.state));
  await vi.waitUntil(async () => (await states()).every((each) => each === 'completed'), 60_000);

  // What is searched is there: else nothing were proved.
  const before = await search(exports);
  const known = (names: readonly string[], part: string) =>
    names.some((name) => name.includes(part));
  for (const table of [
    'enrichment_records',
    'incidents',
    'attempts',
    'incident_keys',
    'exports',
    'export_schedules',
    'dataset_versions',
    'webhook_endpoints',
    'saved_views',
    'record_counts',
  ]) {
    expect(known(before.tables, table), `${table} of ${before.tables.join()}`).toBe(true);
  }
  for (const part of ['/records/', '/exports/']) {
    expect(known(before.files, part), `${part} of ${before.files.join()}`).toBe(true);
  }
  expect(before.answers.length).toBeGreaterThan(6);

  const subject = { field: 'person.id', value: 'kim-4711' };
  const body = { tenant: 'P', subject, incidents: true, reason: 'asked by the person' };
  const { token } = await makeRoot(world.service, { name: 'other admin' });
  const request = { token, body: { ...body, reason: 'nobody confirms it' } };
  const waiting = (await call('POST', '/enrichment/erase', request)).json.approval_id;
  const receipt = await erase(token, body);
  expect(receipt).toMatchObject({ erased: { count: 2 }, incidents: { count: 1 } });
  const named = (answer: typeof receipt) =>
    answer.remains.find(({ what }) => what === 'conditions')?.note;
  expect(named(receipt)).toContain(`approval ${waiting}`);
  expect(named(receipt)?.match(/apr_/g)).toHaveLength(1);
  expect((await call('POST', `/approvals/${waiting}/reject`)).status).toBe(200);
  for (const path of going) {
    expect(named(receipt)).toContain(path.split('/').at(-1));
    expect((await call('DELETE', path)).status).toBeLessThan(300);
  }
  const again = await erase(token, body);
  expect(named(again)).toBeUndefined();
  // Of PostgreSQL's files, those of incidents alone: the receipt says so, and when that ends.
  const pages = receipt.remains.flatMap(({ what, note }) => (what === 'hot_pages' ? [note] : []));
  expect(pages).toEqual([
    expect.stringContaining('tables of incidents, their keys and their attempts'),
  ]);
  expect(again.remains.map(({ what }) => what)).not.toContain('hot_pages');
  const ofIncidents = /^(incidents|incident_keys|endpoint_attempts|delivery_attempts)(_|$)/;
  const inFiles = await tablesWith(world.service.db, ...traces);
  expect(inFiles.filter((name) => !ofIncidents.test(name))).toEqual([]);
  // Objects go a moment later: the sweep that the erasure has begun ends after the answer.
  await vi.waitUntil(async () => (await searchFiles(world.service.dataDir)).length === 0, 90_000);
  const nowhere = { tables: [], files: [], answers: [], logs: [], traces: [] };
  expect(await search(exports)).toEqual(nowhere);
  expect((await call('GET', '/views')).json.data).toMatchObject([{ name: 'store' }]);
  // Both were kept, so that there was something to be searched.
  expect(world.logged.length).toBeGreaterThan(10);
  expect(world.collector.requests.length).toBeGreaterThan(0);

  const place = join(folder.path, 'backup');
  const tools = toolsFor({
    DATABASE_URL: world.service.db.url,
    SVC_DATA_DIR: world.service.dataDir,
  });
  await backUp(tools, optionsFor(place));
  expect(await searchFiles(place)).toEqual([]);
  // Its files are packed, and were unpacked: who was not erased is found.
  traces.push('"ada"');
  expect((await searchFiles(place)).some((path) => path.endsWith('.br'))).toBe(true);
  const left = await call('GET', '/enrichment/records?tenant=P');
  expect(left.json.data.map((row: { event_id: string }) => row.event_id)).toEqual(['e1', 'e2']);
});
