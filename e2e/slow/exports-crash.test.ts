import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { createJob, downloadFile, freezeVersion, untilCompleted } from '../lib/exports.ts';
import { ingestStream } from '../lib/ingest.ts';
import { useInstallation } from '../lib/installation.ts';
import { query } from '../lib/postgres.ts';
import { makeRecord } from '../lib/records.ts';
import { runRetention } from '../lib/retention.ts';
import { waitFor } from '../lib/wait-for.ts';

const installation = useInstallation('each');

const settings = { SVC_LOG_LEVEL: 'error' };
const files = [
  { format: 'csv', compression: 'gzip' },
  { format: 'ndjson', compression: 'zstd' },
  { format: 'parquet' },
] as const;

test('a job survives kill -9 of service and database, and its file is that of an undisturbed one', async () => {
  let service = await installation.start(settings);
  // Some 140 MB, so that there are several parts.
  for (let at = 0; at < 1200; at += 100) {
    const records = Array.from({ length: 100 }, (_, n) =>
      makeRecord(`e-${at + n}`, at + n, { enrichment: { text: `${at + n} `.repeat(24_000) } }),
    );
    await ingestStream(service, records);
  }
  await service.call('POST', '/enrichment/tags', { body: { tenant: 'TX', dataset: 'training' } });
  const { id: version } = await freezeVersion(service, {
    tenant: 'TX',
    dataset: 'training',
    name: 'all',
  });
  const undisturbed = new Map<string, string>();
  for (const { format, ...more } of files) {
    const { id } = await createJob(service, format, { tenant: 'TX', version, ...more });
    undisturbed.set(format, (await untilCompleted(service, id)).sha256);
  }
  // Half of it lies elsewhere now.
  await runRetention(service, { before: '2001-03-01' });
  for (const [round, { format, ...more }] of files.entries()) {
    const { id } = await createJob(service, format, { tenant: 'TX', version, ...more });
    const url = await installation.postgresUrl();
    await waitFor('some parts, not all, to be done', async () => {
      const [found] = await query<{ done: number; parts: number }>(
        url,
        `select count(rows)::int as done, count(*)::int as parts from export_parts where export_id = $1`,
        [id],
      );
      return found !== undefined && found.done > 0;
    });
    await service.kill();
    if (round === 1) await installation.signalPostgres('SIGKILL');
    service = await installation.start(settings);
    const job = await untilCompleted(service, id);
    expect(job.sha256, format).toBe(undisturbed.get(format));
    const sha256 = createHash('sha256')
      .update(await downloadFile(service, id))
      .digest('hex');
    expect(sha256, format).toBe(job.sha256);
  }
}, 300_000);
