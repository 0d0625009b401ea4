import { readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startS3, type TestS3 } from '../packages/server/test/s3.ts';
import { openExport } from './lib/api.ts';
import { ingestStream } from './lib/ingest.ts';
import { type Service, useInstallation } from './lib/installation.ts';
import { makeRecord } from './lib/records.ts';
import { runRetention, verifyAll, viewTenant } from './lib/retention.ts';

const installation = useInstallation('each');

const settings = {
  SVC_LOG_LEVEL: 'error',
  SVC_COLD_GRACE_SECONDS: '0',
};
const makeRecords = (count: number, from = 0) =>
  Array.from({ length: count }, (_, n) => makeRecord(`e-${from + n}`, from + n));

/** Of the first tier that a leaf can have to the last. */
async function tiersOf(service: Service): Promise<string[]> {
  const answer = await service.call('GET', '/enrichment/datasets?tenant=TX&limit=500');
  return [...new Set<string>(answer.json.data.map((leaf: { tier: string }) => leaf.tier))].sort();
}

async function listSegments(): Promise<string[]> {
  const folder = join(installation.dataDir, 'cold');
  const names = await readdir(folder, { recursive: true });
  return names.filter((name) => name.endsWith('.parquet')).map((name) => join(folder, name));
}

test('what is moved cold reads as before, by whole months, by all, and with late records', async () => {
  const service = await installation.start(settings);
  const records = makeRecords(3000);
  await ingestStream(service, records);
  const before = await viewTenant(service, 'TX');

  const run = await installation.run(['retention', 'run', '--before', '2001-03-01', '--yes']);
  expect(run.code, run.output).toBe(0);
  expect(await tiersOf(service)).toEqual(['cold', 'hot']);
  expect(await viewTenant(service, 'TX')).toEqual(before);

  await runRetention(service);
  expect(await tiersOf(service)).toEqual(['cold']);
  expect(await viewTenant(service, 'TX')).toEqual(before);

  const again = await ingestStream(service, records.slice(0, 500));
  expect(again).toMatchObject({ accepted: 0, duplicates: 500 });
  const clash = await ingestStream(service, [{ ...records[0], kind: 'other' }]);
  expect(clash.rejected).toMatchObject([{ code: 'conflict' }]);
  const late = await ingestStream(service, makeRecords(400, 3000));
  expect(late).toMatchObject({ accepted: 400 });
  expect(await tiersOf(service)).toContain('mixed');
  const withLate = await viewTenant(service, 'TX');
  expect(withLate.rowCount).toBe(3400);
  await runRetention(service);
  expect(await tiersOf(service)).toEqual(['cold']);
  expect(await viewTenant(service, 'TX')).toEqual(withLate);

  const verified = await installation.run(['retention', 'verify']);
  expect(verified.code, verified.output).toBe(0);
  expect(await service.stop()).toEqual({ code: 0, signal: null });
});

test('damage is found and told, reads that need it fail loudly, and putting it back mends it', async () => {
  const service = await installation.start(settings);
  await ingestStream(service, makeRecords(2000));
  const before = await viewTenant(service, 'TX');
  await runRetention(service);
  const [segment] = await listSegments();
  if (segment === undefined) throw new Error('no segment was written');
  const whole = await readFile(segment);

  const flipped = Buffer.from(whole);
  const middle = Math.floor(flipped.length / 2);
  flipped[middle] = (flipped[middle] ?? 0) ^ 1;
  await writeFile(segment, flipped);
  await expectDamage(service, 'object_damaged');

  await rename(segment, `${segment}.away`);
  await expectDamage(service, 'object_missing');

  await writeFile(segment, whole);
  const stray = await installation.run(['retention', 'verify']);
  expect(stray.code, stray.output).toBe(1);
  expect(stray.output).toContain('object_orphan');
  expect(await viewTenant(service, 'TX')).toEqual(before);
});

async function expectDamage(service: Service, kind: string): Promise<void> {
  const verified = await installation.run(['retention', 'verify']);
  expect(verified.code, verified.output).toBe(1);
  expect(verified.output).toContain(kind);
  const page = await service.call('GET', '/enrichment/records?tenant=TX');
  expect(page.json).toMatchObject({ status: 500, code: 'segment_damaged' });
  expect(page.json.detail).toContain('2001-01-01');
  const download = await openExport(service, { tenant: 'TX' });
  expect(download.response.statusCode).toBe(500);
  // Counters do not need it, and neither does anybody else.
  const leaves = await service.call('GET', '/enrichment/datasets?tenant=TX');
  expect(leaves.status).toBe(200);
}

test('objects on S3 serve as well, and a store that fails costs nothing but time', async () => {
  const s3: TestS3 = await startS3();
  try {
    const env = {
      ...settings,
      SVC_BLOB_URL: s3.url,
      AWS_ACCESS_KEY_ID: process.env.AWS_ACCESS_KEY_ID ?? '',
      AWS_SECRET_ACCESS_KEY: process.env.AWS_SECRET_ACCESS_KEY ?? '',
    };
    const service = await installation.start(env);
    await ingestStream(service, makeRecords(2000));
    const before = await viewTenant(service, 'TX');

    s3.behave(() => 'deny');
    const refused = await runRetention(service);
    expect([refused.state, refused.failed_moves]).not.toEqual(['completed', 0]);
    expect(await tiersOf(service)).toEqual(['hot']);
    expect(await viewTenant(service, 'TX')).toEqual(before);

    s3.behave(() => 'pass');
    await runRetention(service);
    expect(await tiersOf(service)).toEqual(['cold']);
    expect(await viewTenant(service, 'TX')).toEqual(before);
    expect(await verifyAll(service)).toMatchObject({ ok: true });

    s3.behave((method) => (method === 'GET' ? 'lose_half' : 'pass'));
    expect(await viewTenant(service, 'TX')).toEqual(before);
    // Under Node 20 the client of S3 has an advice of seven lines, of which nobody here can make use.
    expect(service.output()).not.toContain('AWS SDK for JavaScript');
    expect(await service.stop()).toEqual({ code: 0, signal: null });
  } finally {
    await s3.close();
  }
});
