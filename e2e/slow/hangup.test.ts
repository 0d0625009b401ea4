import { connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { readCsv } from '../../packages/server/test/csv.ts';
import { type Download, openExport } from '../lib/api.ts';
import { expectCountersTrue } from '../lib/counters.ts';
import { ingestStream } from '../lib/ingest.ts';
import { type Service, useInstallation } from '../lib/installation.ts';
import { listBusyBackends, query, withPostgres } from '../lib/postgres.ts';
import { makeLeaf, makeRecord, toNdjson } from '../lib/records.ts';
import { waitFor } from '../lib/wait-for.ts';

const installation = useInstallation();
/** Few of everything, so that what one request keeps is missed by the next. */
let service: Service;
/** On the same database: the spill file takes all there is, a stalled reader is given time. */
let patient: Service;
let url: string;
const sockets = new Set<Socket>();
const downloads = new Set<Download>();

const big = { tenant: 'TX', store: 'DFW' };
const bigCount = 30_000;

beforeAll(async () => {
  service = await installation.start({
    SVC_DATABASE_CONNECTIONS: '6',
    SVC_INGEST_MAX_RECORDS: '100',
    // One stream reserves 768 KiB: another is taken once it has given them back.
    SVC_INGEST_IN_FLIGHT_BYTES: '1MiB',
    SVC_EXPORT_SPILL_BYTES: '1MiB',
    // On a busy machine a second passes before what leads to the stall has been seen.
    SVC_EXPORT_STALL_SECONDS: '3',
    SVC_RATE_LIMIT: '0',
  });
  patient = await installation.start({ SVC_LOG_LEVEL: 'error' });
  url = await installation.postgresUrl();
  await ingestStream(patient, makeLeaf(big, bigCount, 1000));
});
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  for (const download of downloads) download.abort();
  sockets.clear();
  downloads.clear();
});

test('an ingest that is hung up on leaves its whole parts, and nothing else', async () => {
  const records = Array.from({ length: 250 }, (_, n) => makeRecord(`stream-${n}`, n));
  const text = toNdjson(records);
  for (const hangUp of ['destroy', 'resetAndDestroy'] as const) {
    for (let n = 0; n < 4; n += 1) {
      const tenant = `${hangUp}-${n}`;
      const socket = await postHead(service, text.length * 2);
      socket.write(text.replaceAll('"TX"', `"${tenant}"`));
      await waitFor('two parts to be stored', async () => (await storedCount(tenant)) === 200);
      socket[hangUp]();
      await untilBytesAreBack();
    }
  }
  await expectNothingHeld(service);
  expect(await storedCount('destroy-3')).toBe(200);
  await expectCountersTrue(url, patient);
});

test('an ingest that is hung up on between two bytes of gzip ends, and so do its connections', async () => {
  const records = Array.from({ length: 5000 }, (_, n) =>
    makeRecord(`gzip-${n}`, n, { tenant: 'GZ', enrichment: { n, noise: Math.random() } }),
  );
  const coded = gzipSync(toNdjson(records));
  for (let n = 0; n < 5; n += 1) {
    const socket = await postHead(service, coded.length, 'content-encoding: gzip\r\n');
    socket.write(coded.subarray(0, coded.length / 2));
    await waitFor('parts to be stored', async () => (await storedCount('GZ')) >= 1000);
    socket.destroy();
    await untilBytesAreBack();
  }
  await expectNothingHeld(service);
  expect(await storedCount('GZ')).toBeLessThan(5000);
  await expectCountersTrue(url, patient);
  expect(await ingestStream(service, records)).toMatchObject({ rejected_count: 0 });
  expect(await storedCount('GZ')).toBe(5000);
});

test('a JSON batch that is hung up on stores nothing', async () => {
  const records = [
    makeRecord('half', 0, { tenant: 'HALF' }),
    makeRecord('other', 1, { tenant: 'HALF' }),
  ];
  const body = JSON.stringify({ records });
  const socket = await postHead(service, body.length, '', 'application/json');
  socket.write(body.slice(0, -1));
  socket.end();
  await waitFor('the socket to close', () => socket.closed);
  await expectNothingHeld(service);
  expect(await storedCount('HALF')).toBe(0);
});

test('an export that is hung up on is cancelled, with what it held', async () => {
  for (const headers of [{}, { 'accept-encoding': 'gzip' }]) {
    for (let n = 0; n < 2; n += 1) {
      const download = await open(service, big, headers);
      await waitForBackend(service, 'ClientWrite');
      download.abort();
      await expectNothingHeld(service);
    }
  }
  expect(readCsv(String(await (await open(service, big)).readAll()))).toHaveLength(bigCount + 1);
});

test('an export that is hung up on while its query yields nothing is cancelled', async () => {
  await withLockedRecords(async () => {
    // The count comes from the counters, so that the head of the answer is there.
    const download = await open(service, big);
    await waitForBackend(service, 'relation');
    download.abort();
    await expectNothingHeld(service);
  });
});

test('an export that is hung up on before its first byte is cancelled', async () => {
  await withLockedRecords(async () => {
    const body = JSON.stringify({ tenant: 'TX', kind: 'departure' });
    const socket = await openSocket(service);
    socket.write(head(service, 'POST /api/v1/exports/csv', body.length, '', 'application/json'));
    socket.write(body);
    await waitForBackend(service, 'relation');
    socket.destroy();
    await expectNothingHeld(service);
  });
});

test('a reader that stalls is reset, while others are served', async () => {
  const stalled = await open(service, big);
  await waitForBackend(service, 'ClientWrite');
  let served = 0;
  await waitFor('the stalled export to lose its backend', async () => {
    const page = await service.call('GET', '/enrichment/records?tenant=TX&limit=500');
    expect(page.status, page.text).toBe(200);
    served += 1;
    return (await listBusyBackends(url, service.pid)).length === 0;
  });
  expect(served).toBeGreaterThan(1);
  await expectCut(stalled);
});

test('a reader that stalls holds no snapshot, and may read on to the end', async () => {
  const stalled = await open(patient, big);
  await expectNothingHeld(patient);
  const text = String(await stalled.readAll());
  expect(readCsv(text)).toHaveLength(stalled.rowCount + 1);
});

test('an export whose backend is terminated midway never looks whole', async () => {
  for (const headers of [{}, { 'accept-encoding': 'gzip' }]) {
    const download = await open(service, big, headers);
    const backend = await waitForBackend(service, 'ClientWrite');
    await query(url, 'select pg_terminate_backend($1)', [backend.pid]);
    await expectCut(download);
  }
  await expectNothingHeld(service);
});

test('the service has lived through all of it, and calls nothing of it a mistake of its own', async () => {
  expect(service.output()).toContain('export ended early');
  expect(service.output()).not.toContain('"level":50');
  expect(service.exit()).toBeUndefined();
  expect((await service.probe('/readyz')).status).toBe(200);
  expect(await service.stop()).toEqual({ code: 0, signal: null });
});

/** No connection of the service is in a transaction, runs a query or holds a snapshot. */
async function expectNothingHeld(of: Service): Promise<void> {
  let busy: unknown[] = [];
  await waitFor('the service to hold nothing in the database', async () => {
    busy = await listBusyBackends(url, of.pid);
    return busy.length === 0;
  }).catch((error: Error) => {
    throw new Error(`${error.message}: ${JSON.stringify(busy)}`);
  });
}

/** The backend that waits for this: `ClientWrite` = for the reader of its export, `relation` = for a lock. */
async function waitForBackend(of: Service, waitEvent: string) {
  return waitFor(`a backend to wait for ${waitEvent}`, async () => {
    const busy = await listBusyBackends(url, of.pid);
    return busy.find((backend) => backend.wait_event === waitEvent);
  });
}

/** Nobody can read records meanwhile. */
async function withLockedRecords(work: () => Promise<void>): Promise<void> {
  await withPostgres(url, async (client) => {
    await client.query('begin');
    await client.query('lock table enrichment_records in access exclusive mode');
    await work();
    await client.query('rollback');
  });
}

/** Reads on. Not `rejects`, which would print a body of 50 MB if it came whole. */
async function expectCut(download: Download): Promise<void> {
  const end = await download.readAll().then(
    () => 'whole',
    () => 'cut',
  );
  expect(end).toBe('cut');
  expect(download.response.complete).toBe(false);
  expect(download.response.trailers).toEqual({});
}

async function open(
  of: Service,
  slice: Record<string, unknown>,
  headers: Record<string, string> = {},
): Promise<Download> {
  const download = await openExport(of, slice, headers);
  downloads.add(download);
  expect(download.response.statusCode).toBe(200);
  return download;
}

async function storedCount(tenant: string): Promise<number> {
  const [row] = await query<{ count: number }>(
    url,
    'select count(*)::int as count from enrichment_records where tenant = $1',
    [tenant],
  );
  return row?.count ?? 0;
}

/** A part may wait for its turn without a connection: nobody writes once the bytes are given back. */
async function untilBytesAreBack(): Promise<void> {
  await waitFor('the bytes in flight to be given back', () => isStreamTaken(service));
}

async function isStreamTaken(of: Service): Promise<boolean> {
  const answer = await of.call('POST', '/enrichment/records', {
    body: toNdjson([makeRecord('probe', 0, { tenant: 'PROBE' })]),
    headers: { 'content-type': 'application/x-ndjson' },
  });
  return answer.status === 200;
}

/** A connection on which the head of an ingest has been sent, and no more. */
async function postHead(
  of: Service,
  length: number,
  more = '',
  type = 'application/x-ndjson',
): Promise<Socket> {
  const socket = await openSocket(of);
  socket.write(head(of, 'POST /api/v1/enrichment/records', length, more, type));
  return socket;
}

function head(of: Service, line: string, length: number, more: string, type: string): string {
  return `${line} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${of.token}\r\ncontent-type: ${type}\r\ncontent-length: ${length}\r\n${more}\r\n`;
}

async function openSocket(of: Service): Promise<Socket> {
  const { hostname, port } = new URL(of.url);
  const socket = connect({ host: hostname, port: Number(port) });
  sockets.add(socket);
  // A reset is what some of these tests are about.
  socket.on('error', () => {});
  socket.resume();
  await waitFor('a connection', () => socket.readyState === 'open');
  return socket;
}
