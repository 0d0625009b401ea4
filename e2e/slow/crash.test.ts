import { randomInt } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { expect, test } from 'vitest';
import { expectCountersTrue } from '../lib/counters.ts';
import { ingestStream } from '../lib/ingest.ts';
import { type Service, useInstallation } from '../lib/installation.ts';
import { listBusyBackends, listEventIds, query } from '../lib/postgres.ts';
import { makeRecord, type NewRecord, toNdjson } from '../lib/records.ts';
import { waitFor } from '../lib/wait-for.ts';

const installation = useInstallation('each');

/** Small parts, so that a stream commits many of them. */
const settings = { SVC_INGEST_MAX_RECORDS: '300', SVC_LOG_LEVEL: 'error' };
const rounds = 6;
const writers = 3;

type Batch = { records: NewRecord[]; isAcknowledged: boolean };

/** Everything ever sent, and how much has happened in the round: what decides when to kill. */
type Load = { batches: Batch[]; events: number };

test('keeps what it acknowledged, once, with true counters, through kill -9 during ingest', async () => {
  const load: Load = { batches: [], events: 0 };
  let killedPid = 0;
  for (let round = 0; round < rounds; round += 1) {
    const service = await installation.start(settings);
    const url = await installation.postgresUrl();
    await waitFor('the last commits of the killed service', async () => {
      const left = await listBusyBackends(url, killedPid);
      return left.length === 0;
    });
    await expectAcknowledgedStored(load);
    await expectCountersTrue(url, service);

    load.events = 0;
    const clients = Array.from({ length: writers }, (_, n) =>
      postBatches(service, load, `r${round}-w${n}`),
    );
    clients.push(postStreams(service, load, `r${round}-s`));
    const killAfter = randomInt(5, 80);
    await waitFor('the load to run', () => {
      // Any moment will do, but once at least something must be at stake.
      const isAtStake = load.batches.some((batch) => batch.isAcknowledged);
      return load.events >= killAfter && isAtStake;
    });
    await service.kill();
    killedPid = service.pid;
    // A power cut takes both; a crash of the service leaves its PostgreSQL behind.
    if (round % 3 === 2) await installation.signalPostgres('SIGKILL');
    await Promise.all(clients);
  }

  const service = await installation.start(settings);
  await expectAcknowledgedStored(load);
  const sentCount = load.batches.reduce((sum, batch) => sum + batch.records.length, 0);
  let storedLate = 0;
  for (const batch of load.batches) {
    const answer = await ingestStream(service, batch.records);
    expect(answer.rejected_count).toBe(0);
    expect(answer.accepted + answer.duplicates).toBe(batch.records.length);
    if (batch.isAcknowledged) expect(answer.accepted).toBe(0);
    storedLate += answer.accepted;
  }
  expect(load.batches.some((batch) => batch.isAcknowledged)).toBe(true);
  expect(load.batches.every((batch) => batch.isAcknowledged)).toBe(false);
  expect(storedLate).toBeLessThan(sentCount);

  const url = await installation.postgresUrl();
  const [total] = await query(url, 'select count(*)::int as count from enrichment_records');
  expect(total).toEqual({ count: sentCount });
  await expectCountersTrue(url, service);
  for (const batch of load.batches) {
    const again = await ingestStream(service, batch.records);
    expect(again).toMatchObject({ accepted: 0, duplicates: batch.records.length });
  }
  await expectCountersTrue(url, service);
  expect(await service.stop()).toEqual({ code: 0, signal: null });
});

/** Posts one batch after the other until the service is gone. */
async function postBatches(service: Service, load: Load, name: string): Promise<void> {
  for (let n = 0; ; n += 1) {
    const records = makeRecords(`${name}-${n}`, randomInt(1, 300));
    const batch = { records, isAcknowledged: false };
    load.batches.push(batch);
    load.events += 1;
    const answer = await service
      .call('POST', '/enrichment/records', { body: { records } })
      .catch(() => undefined);
    if (answer === undefined) return;
    expect(answer.status, answer.text).toBe(200);
    expect(answer.json.accepted).toBe(records.length);
    batch.isAcknowledged = true;
    load.events += 1;
  }
}

/** Sends NDJSON streams of many parts, piece by piece, until the service is gone. */
async function postStreams(service: Service, load: Load, name: string): Promise<void> {
  for (let n = 0; ; n += 1) {
    const records = makeRecords(`${name}-${n}`, 2500);
    const batch = { records, isAcknowledged: false };
    load.batches.push(batch);
    const status = await streamSlowly(service, records, () => {
      load.events += 1;
    }).catch(() => 0);
    if (status === 0) return;
    expect(status).toBe(200);
    batch.isAcknowledged = true;
  }
}

function streamSlowly(
  service: Service,
  records: NewRecord[],
  onPiece: () => void,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${service.url}/api/v1/enrichment/records`, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.token}`, 'content-type': 'application/x-ndjson' },
    });
    request.on('error', reject);
    request.on('response', (response) => {
      response.on('error', reject).resume();
      response.on('end', () => resolve(response.statusCode ?? 0));
    });
    let at = 0;
    const writeNext = () => {
      if (at >= records.length) return void request.end();
      const piece = toNdjson(records.slice(at, at + 150));
      at += 150;
      onPiece();
      request.write(piece, () => setImmediate(writeNext));
    };
    writeNext();
  });
}

async function expectAcknowledgedStored(load: Load): Promise<void> {
  const stored = new Set(await listEventIds(await installation.postgresUrl()));
  const lost = load.batches
    .filter((batch) => batch.isAcknowledged)
    .flatMap((batch) => batch.records)
    .filter((record) => !stored.has(record.event_id));
  expect(lost).toEqual([]);
}

function makeRecords(name: string, count: number): NewRecord[] {
  return Array.from({ length: count }, (_, n) => makeRecord(`${name}-${n}`, n));
}
