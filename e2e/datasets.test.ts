import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { formatDigest, recordDigest, sumDigests } from '../packages/server/src/kernel/digest.ts';
import {
  askDuckDb,
  createJob,
  downloadFile,
  freezeVersion,
  untilCompleted,
} from './lib/exports.ts';
import { ingestStream } from './lib/ingest.ts';
import { useInstallation } from './lib/installation.ts';
import { makeRecord, type NewRecord } from './lib/records.ts';
import { runRetention } from './lib/retention.ts';

const installation = useInstallation('each');

const settings = { SVC_LOG_LEVEL: 'error' };
const shares = { train: 80, validation: 10, test: 10 };

/** As the documentation tells it, not as the product does it. */
function splitOf(eventId: string): 'train' | 'validation' | 'test' {
  const hash = createHash('md5').update(eventId).digest('hex').slice(0, 8);
  const place = Math.floor((Number.parseInt(hash, 16) * 100) / 2 ** 32);
  if (place < shares.train) return 'train';
  return place < shares.train + shares.validation ? 'validation' : 'test';
}

function digestOf(records: readonly NewRecord[]): string {
  const digests = records.map((record) =>
    recordDigest({
      tenant: record.tenant,
      store: record.store,
      occurredAtMicros: Date.parse(record.occurred_at) * 1000,
      eventId: record.event_id,
      kind: record.kind ?? null,
      source: null,
      model: null,
      confidence: record.confidence === undefined ? null : String(record.confidence),
      enrichment: JSON.stringify(record.enrichment),
    }),
  );
  return formatDigest(sumDigests(digests));
}

test('a quarter that is tagged and frozen 80/10/10 is the same in leaves, version, Parquet and CSV', async () => {
  const service = await installation.start(settings);
  const records = Array.from({ length: 4000 }, (_, n) => makeRecord(`e-${n}`, n));
  await ingestStream(service, records);
  const quarter = records.filter(({ occurred_at }) => occurred_at < '2001-04');
  const ofSplit = (name: string) => quarter.filter(({ event_id }) => splitOf(event_id) === name);

  const tag = ['records', 'tags', 'add', '--tenant', 'TX', '--dataset', 'training'];
  const tagged = await installation.run([
    ...tag,
    '--from',
    '2001-01-01',
    '--to',
    '2001-03-31',
    '--yes',
  ]);
  expect(tagged.code, tagged.output).toBe(0);
  const leaf = await service.call('GET', '/enrichment/datasets?tenant=TX&level=tenant');
  expect(leaf.json.data[0]).toMatchObject({
    count: records.length,
    covered: quarter.length,
    by_dataset: { training: quarter.length, fine_tuning: 0 },
    coverage: quarter.length / records.length,
  });

  const request = { tenant: 'TX', dataset: 'training', name: 'q1', shares };
  const version = await freezeVersion(service, request);
  expect(version).toMatchObject({
    state: 'ready',
    count: quarter.length,
    digest: digestOf(quarter),
  });
  for (const name of ['train', 'validation', 'test']) {
    const own = ofSplit(name);
    expect(version.splits[name]).toEqual({ count: own.length, digest: digestOf(own) });
  }

  // What comes later, is untagged, or moves, changes nothing of the version.
  await ingestStream(service, [makeRecord('late', 0)]);
  await runRetention(service, { before: '2001-03-01' });
  const untagged = await service.call('GET', '/enrichment/tags?tenant=TX');
  await service.call('DELETE', `/enrichment/tags/${untagged.json.data[0].id}`);

  const parquet = join(installation.dataDir, 'q1.parquet');
  const job = await createJob(service, 'parquet', { tenant: 'TX', version: version.id });
  const done = await untilCompleted(service, job.id);
  await writeFile(parquet, await downloadFile(service, job.id));
  const csv = join(installation.dataDir, 'q1.csv');
  const exported = await installation.run(
    `analytics export --tenant TX --version q1 --format csv --async --out ${csv}`.split(' '),
  );
  expect(exported.code, exported.output).toBe(0);
  expect(done).toMatchObject({ rows_done: quarter.length, digest: version.digest });

  for (const source of [`'${parquet}'`, `read_csv('${csv}', all_varchar = true)`]) {
    const rows = (await askDuckDb(
      `select tenant, store, event_id, strftime(occurred_at::timestamptz, '%Y-%m-%dT%H:%M:%S.%fZ') as occurred_at,
        kind, confidence, enrichment, split from ${source}`,
    )) as (Record<
      'tenant' | 'store' | 'event_id' | 'occurred_at' | 'enrichment' | 'split',
      string
    > & {
      kind: string | null;
      confidence: string;
    })[];
    const read = rows.map(({ confidence, enrichment, ...row }) => ({
      ...row,
      confidence: Number(confidence),
      enrichment: JSON.parse(enrichment) as unknown,
    }));
    expect(digestOf(read)).toBe(version.digest);
    expect(read.length).toBe(version.count);
    for (const { event_id, split } of read) expect(split).toBe(splitOf(event_id));
  }
});
