import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { findRealS3 } from '../../packages/server/test/real-s3.mjs';
import { useS3 } from '../../packages/server/test/s3.ts';
import { createJob, downloadFile, untilCompleted } from '../lib/exports.ts';
import { ingestStream } from '../lib/ingest.ts';
import { type Service, useInstallation } from '../lib/installation.ts';
import { makeLeaf } from '../lib/records.ts';
import { runRetention, verifyAll, viewTenant } from '../lib/retention.ts';
import { waitFor } from '../lib/wait-for.ts';

const installation = useInstallation('each');
// The real server where there is one.
const s3 = useS3('each', findRealS3() ?? undefined);

const environment = () => ({
  SVC_LOG_LEVEL: 'error',
  SVC_COLD_GRACE_SECONDS: '0',
  SVC_BLOB_URL: s3.url,
  AWS_ACCESS_KEY_ID: process.env.AWS_ACCESS_KEY_ID ?? '',
  AWS_SECRET_ACCESS_KEY: process.env.AWS_SECRET_ACCESS_KEY ?? '',
});

const tierOf = async (service: Service) => {
  const answer = await service.call('GET', '/enrichment/datasets?level=tenant');
  return answer.json.data[0].tier as string;
};

const firstPage = (service: Service) =>
  service.call('GET', '/enrichment/records?tenant=TX&limit=20');

const partOf = (folder: string) => (request: { method: string; path: string }) =>
  request.method === 'PUT' && request.path.includes(folder);

test.each(['killed', 'frozen'] as const)(
  'a server of S3 that is %s amid a move, an export or a page costs nothing but time',
  async (how) => {
    const isKilled = how === 'killed';
    const down = async () => (isKilled ? s3.server.kill() : s3.server.freeze());
    const up = async () => (isKilled ? s3.server.restart() : s3.server.thaw());
    let service = await installation.start(environment());
    // 20 MB that cannot be compressed, so that the objects are sent in parts.
    const records = makeLeaf({ tenant: 'TX', store: 'DFW' }, 400, 50_000);
    for (let at = 0; at < records.length; at += 100) {
      await ingestStream(service, records.slice(at, at + 100));
    }
    const before = await viewTenant(service, 'TX');

    const moving = s3.seen(partOf('/records/'));
    const run = runRetention(service);
    await moving;
    await down();
    expect(await viewTenant(service, 'TX')).toEqual(before);
    if (isKilled) {
      const [waiting] = await waitFor('the run to wait', async () => {
        const { data } = (await service.call('GET', '/retention/runs?limit=1')).json;
        return data[0].state === 'waiting' ? data : undefined;
      });
      expect(waiting).toMatchObject({
        moved_count: 0,
        waiting_for: expect.stringContaining('the store says'),
      });
    }
    await up();
    expect(await run).toMatchObject({ state: 'completed', moved_count: 400 });
    expect(await tierOf(service)).toBe('cold');
    expect(await viewTenant(service, 'TX')).toEqual(before);
    const { problems } = await verifyAll(service);
    const kinds = new Set(problems.map((problem) => (problem as { kind: string }).kind));
    // The parts that arrived before the server died: nobody could remove them.
    kinds.delete('upload_unfinished');
    expect([...kinds]).toEqual([]);

    const exporting = s3.seen(partOf('/exports/'));
    const job = await createJob(service, 'csv', { tenant: 'TX' });
    await exporting;
    await down();
    expect((await service.call('GET', `/exports/${job.id}`)).json.finished_at).toBeNull();
    await up();
    expect((await untilCompleted(service, job.id)).sha256).toBe(before.csvSha256);
    const file = createHash('sha256').update(await downloadFile(service, job.id));
    expect(file.digest('hex')).toBe(before.csvSha256);

    // Another process, which has no copies.
    expect(await service.stop()).toEqual({ code: 0, signal: null });
    await down();
    service = await installation.start(environment());
    const page = await firstPage(service);
    expect(page.json).toMatchObject({ status: 503, code: 'cold_tier_unavailable' });
    expect(page.json.detail).toMatch(/cannot be read from s3:\/\/.*: the store s/);
    await up();
    expect((await firstPage(service)).status).toBe(200);
    expect(await viewTenant(service, 'TX')).toEqual(before);
  },
  240_000,
);
