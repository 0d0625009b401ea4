import { expect, test } from 'vitest';
import { startS3, type TestS3 } from '../../packages/server/test/s3.ts';
import { ingestStream } from '../lib/ingest.ts';
import { type Service, useInstallation } from '../lib/installation.ts';
import { makeRecord } from '../lib/records.ts';
import { runRetention, verifyAll, viewTenant } from '../lib/retention.ts';

const installation = useInstallation('each');

const settings = { SVC_LOG_LEVEL: 'error', SVC_COLD_GRACE_SECONDS: '0' };
const makeRecords = (count: number, from = 0) =>
  Array.from({ length: count }, (_, n) => makeRecord(`e-${from + n}`, from + n));

/** Of the first tier that a leaf can have to the last. */
async function tiersOf(service: Service): Promise<string[]> {
  const answer = await service.call('GET', '/enrichment/datasets?tenant=TX&limit=500');
  return [...new Set<string>(answer.json.data.map((leaf: { tier: string }) => leaf.tier))].sort();
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
    const refused = await runRetention(service, {}, {});
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
    expect(await service.stop()).toEqual({ code: 0, signal: null });
  } finally {
    await s3.close();
  }
});
