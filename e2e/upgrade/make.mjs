// Makes a fixture for upgrade.test.ts: what an earlier release, checked out and built in a folder of its own, leaves
// after a few hundred records, moves, exports and incidents. See README.md.
//
//   node e2e/upgrade/make.mjs FOLDER_OF_THE_RELEASE e2e/upgrade/NAME
import { spawn } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import pg from 'pg';
import copyStreams from 'pg-copy-streams';

const [release, target] = process.argv.slice(2);
const tenants = { TX: ['AUS', 'DFW', 'IAH'], CA: ['SFO'], 'Ünï & Co': ['Łódź #1'] };
const base = '/api/v1';
/** The table in which every release notes its migrations. */
const journal = `create table schema_migrations (
  name text collate "C" primary key, checksum text not null, applied_at timestamptz not null default now(),
  needs text collate "C");`;

const dataDir = await mkdtemp(join(tmpdir(), 'svcctl-old-'));
const receiver = await startReceiver();
const service = await startService();
try {
  await fillRecords();
  const secrets = await fillWebhooks();
  const tokens = await fillTokens();
  const expected = await describeAll({ secrets, tokens });
  await mkdir(target, { recursive: true });
  await writeFile(join(target, 'expected.json.gz'), gzipSync(JSON.stringify(expected, null, 2)));
  await writeFile(join(target, 'tables.sql.gz'), gzipSync(await dump(), { level: 9 }));
  await rm(join(target, 'files'), { recursive: true, force: true });
  for (const name of ['admin-token', 'secret-key', 'cold']) {
    await cp(join(dataDir, name), join(target, 'files', name), { recursive: true });
  }
} finally {
  service.child.kill('SIGTERM');
  await service.ended;
  receiver.close();
  await rm(dataDir, { recursive: true, force: true });
}

async function startService() {
  const bin = join(release, 'packages', 'server', 'bin');
  const { bin: names } = JSON.parse(await readFile(join(bin, '..', 'package.json'), 'utf8'));
  const child = spawn(process.execPath, [join(bin, '..', names.svcctl), 'serve'], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: {
      PATH: process.env.PATH,
      SVC_DATA_DIR: dataDir,
      SVC_PORT: '0',
      SVC_ALLOW_TARGETS: '127.0.0.0/8',
      SVC_EXPORT_DAYS: '3650',
    },
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const { url } = await until(async () =>
    JSON.parse(await readFile(join(dataDir, 'service.json'), 'utf8').catch(() => 'null')),
  );
  const token = (await readFile(join(dataDir, 'admin-token'), 'utf8')).trim();
  return { child, ended, url, token };
}

/** Records of three months in two tiers, with some that came late, some erased, tags, a version, exports. */
async function fillRecords() {
  await ingest(
    Object.entries(tenants).flatMap(([tenant, stores]) => makeRecords(tenant, stores, 'e')),
  );
  await call('POST', '/enrichment/tags', {
    ...{ tenant: 'TX', from: '2001-01-01', to: '2001-03-31', dataset: 'training' },
    note: 'the quarter',
  });
  await call('POST', '/enrichment/tags', {
    ...{ tenant: 'TX', store: 'DFW', month: '2001-02', dataset: 'fine_tuning' },
  });
  await call('PUT', '/retention/policies/TX', { hot_days: 30, delete_days: null, hold: false });
  await finish('/retention/runs', await call('POST', '/retention/run', { before: '2001-03-01' }));
  // Late for days that are cold by now.
  await ingest(makeRecords('TX', ['DFW'], 'late').slice(0, 5));
  await call('POST', '/enrichment/erase', { tenant: 'TX', event_ids: ['e-AUS-3', 'e-AUS-58'] });
  await call('PUT', '/retention/policies/CA', { hot_days: 7, delete_days: 3650, hold: true });
  const shares = { train: 80, validation: 10, test: 10 };
  const frozen = { tenant: 'TX', dataset: 'training', name: 'q1', shares };
  const version = await call('POST', '/enrichment/dataset-versions', frozen);
  await until(async () => {
    const { state } = await call('GET', `/enrichment/dataset-versions/${version.id}`);
    return state === 'ready';
  });
  const later = { prefer: 'respond-async' };
  for (const { format, ...body } of [
    { format: 'csv', tenant: 'TX', compression: 'gzip' },
    { format: 'parquet', tenant: 'TX', version: version.id },
    { format: 'ndjson', tenant: 'CA', month: '2001-02' },
  ]) {
    await finish('/exports', await call('POST', `/exports/${format}`, body, later));
  }
  await finish('/retention/verify', await call('POST', '/retention/verify', {}));
}

function makeRecords(tenant, stores, prefix) {
  return stores.flatMap((store) =>
    Array.from({ length: 60 }, (_, n) => ({
      ...{ tenant, store, event_id: `${prefix}-${store}-${n}` },
      occurred_at: `2001-0${(n % 3) + 1}-${String((n % 28) + 1).padStart(2, '0')}T12:00:00.${String(n).padStart(6, '0')}Z`,
      kind: n % 4 === 0 ? undefined : `kind-${n % 4}`,
      model: n % 7 === 0 ? '' : 'detector "2"',
      enrichment: '@@',
    })),
  );
}

/** The spelling of numbers and the order of keys are ours to choose, so the text is put in afterwards. */
async function ingest(records) {
  const lines = records.map((record, n) => {
    const enrichment = `{"z":${n}.50,"a":12345678901234567890,"e":1E+2,"text":"çą,\\n\\"x\\"","list":[1,{}]}`;
    const confidence = n % 5 === 0 ? '' : `"confidence":0.${n % 10}0,`;
    return JSON.stringify(record).replace(
      '"enrichment":"@@"',
      `${confidence}"enrichment":${enrichment}`,
    );
  });
  const answer = await request('POST', '/enrichment/records', {
    body: `${lines.join('\n')}\n`,
    headers: { 'content-type': 'application/x-ndjson' },
  });
  const { accepted } = await answer.json();
  if (accepted !== records.length) throw new Error(`${accepted} of ${records.length} accepted`);
}

/** Deliveries that arrived, wait for long, were abandoned, and met a receiver that is gone. */
async function fillWebhooks() {
  const endpoints = {
    well: { tenant: 'TX' },
    refuses: { tenant: 'TX', max_attempts: 1, event_types: ['incident.resolved'] },
    later: { tenant: 'CA', retry_schedule: [86_400] },
    gone: { tenant: 'Ünï & Co' },
  };
  const secrets = {};
  for (const [name, more] of Object.entries(endpoints)) {
    const url = `${receiver.url}/${name}`;
    const made = await call('POST', '/webhook/endpoints', { event_types: ['*'], ...more, url });
    secrets[name] = { id: made.id, secrets: [made.secret] };
  }
  const { secret } = await call('POST', `/webhook/endpoints/${secrets.well.id}/rotate-secret`);
  secrets.well.secrets.unshift(secret);
  for (const tenant of Object.keys(tenants)) {
    for (const type of ['incident.created', 'incident.resolved']) {
      for (let n = 0; n < 3; n += 1) {
        await call('POST', '/incidents', {
          ...{ tenant, type, occurred_at: '2001-03-05T14:07:09.123456Z' },
          ...{ data: { n, score: 0.97, text: 'çą' }, idempotency_key: `${type}-${n}` },
        });
      }
    }
  }
  await until(async () => {
    const { data } = await call('GET', '/webhook/deliveries?status=queued');
    return data.every((delivery) => delivery.waits_for_endpoint);
  });
  return secrets;
}

async function fillTokens() {
  const wanted = {
    reader: { preset: 'support-readonly' },
    limited: { preset: 'admin', tenants: ['TX'] },
    revoked: { preset: 'admin' },
    expired: { preset: 'admin', expires_at: new Date(Date.now() + 2000).toISOString() },
  };
  const tokens = {};
  for (const [name, more] of Object.entries(wanted)) {
    const made = await call('POST', '/tokens', { name, ...more });
    tokens[name] = made.token;
    if (name === 'revoked') await call('DELETE', `/tokens/${made.id}`);
  }
  return tokens;
}

/** What a client is answered, wherever the database lies. */
async function describeAll(more) {
  const views = {};
  for (const tenant of Object.keys(tenants)) {
    const name = encodeURIComponent(tenant);
    const { data: leaves } = await call('GET', `/enrichment/datasets?tenant=${name}&include=days`);
    const { data: records } = await call('GET', `/enrichment/records?tenant=${name}&limit=500`);
    const csv = await (await request('POST', '/exports/csv', asJson({ tenant }))).text();
    views[tenant] = { leaves, ids: records.map((record) => record.event_id), csv };
  }
  const list = async (path) => (await call('GET', path)).data;
  return {
    made_at: new Date().toISOString(),
    views,
    tags: await list('/enrichment/tags'),
    versions: await list('/enrichment/dataset-versions'),
    exports: await list('/exports'),
    policies: await list('/retention/policies'),
    moves: await list('/retention/moves?limit=500'),
    incidents: await list('/incidents'),
    deliveries: await list('/webhook/deliveries'),
    endpoints: await list('/webhook/endpoints'),
    pending: await list('/webhook/dlq?status=pending'),
    abandoned: await list('/webhook/dlq?status=abandoned'),
    ...more,
  };
}

/** What pg_dump would write, but that the schema is what the migrations of the release make. */
async function dump() {
  const cluster = join(dataDir, 'postgres');
  const password = (await readFile(join(cluster, 'svcctl-password'), 'utf8')).trim();
  const [, , , port] = (await readFile(join(cluster, 'postmaster.pid'), 'utf8')).split('\n');
  const client = new pg.Client(`postgres://svcctl:${password}@127.0.0.1:${port}/svcctl`);
  await client.connect();
  await client.query(`begin isolation level repeatable read; set local timezone = 'UTC'`);
  const { rows } = await client.query(`
    select relname as name, pg_get_expr(relpartbound, oid) as bound, (
      select string_agg(attname, ', ' order by attnum) from pg_attribute
      where attrelid = pg_class.oid and attnum > 0 and not attisdropped and attgenerated = ''
    ) as columns, exists (select from pg_trigger where tgrelid = pg_class.oid and not tgisinternal) as has_triggers
    from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' order by relname`);
  const lines = [journal];
  const migrations = join(release, 'packages', 'server', 'migrations');
  for (const name of (await readdir(migrations)).sort()) {
    if (/^\d{4}-/.test(name)) lines.push(await readFile(join(migrations, name), 'utf8'));
  }
  for (const { name, bound } of rows.filter((row) => row.bound !== null)) {
    lines.push(`create table ${name} partition of enrichment_records ${bound};`);
  }
  // Some migrations store rows of their own, which are among those that follow.
  lines.push(`truncate ${rows.map(({ name }) => name).join(', ')};`);
  for (const { name, columns, has_triggers: hasTriggers } of rows) {
    const copied = client.query(copyStreams.to(`copy ${name} (${columns}) to stdout`));
    // What a trigger has done to these rows is among the others.
    if (hasTriggers) lines.push(`alter table ${name} disable trigger user;`);
    lines.push(`copy ${name} (${columns}) from stdin;`, `${await text(copied)}\\.`);
    if (hasTriggers) lines.push(`alter table ${name} enable trigger user;`);
  }
  const sequences = await client.query('select sequencename as name, last_value from pg_sequences');
  for (const { name, last_value: last } of sequences.rows) {
    if (last !== null) lines.push(`select setval('${name}', ${last});`);
  }
  await client.end();
  return `${lines.join('\n')}\n`;
}

async function startReceiver() {
  const status = { '/well': 204, '/refuses': 500, '/later': 503, '/gone': 410 };
  const server = createServer((message, response) => {
    message.resume().on('end', () => response.writeHead(status[message.url]).end('told'));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

/** Waits until a job has ended. */
async function finish(path, { id }) {
  const job = await until(async () => {
    const answer = await call('GET', `${path}/${id}`);
    return answer.finished_at === null ? undefined : answer;
  });
  if (job.state !== 'completed') throw new Error(`${path}/${id} is ${job.state}`);
}

async function call(method, path, body, headers = {}) {
  const answer = await request(
    method,
    path,
    body === undefined ? { headers } : asJson(body, headers),
  );
  const answered = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answered}`);
  return answered === '' ? undefined : JSON.parse(answered);
}

function asJson(body, headers = {}) {
  return {
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...headers },
  };
}

function request(method, path, { body, headers = {} }) {
  const { url, token } = service;
  const all = { authorization: `Bearer ${token}`, ...headers };
  return fetch(`${url}${base}${path}`, { method, body, headers: all });
}

async function until(look) {
  for (;;) {
    const found = await look();
    if (found) return found;
    await setTimeout(100);
  }
}
