import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { useFolder } from '../../packages/server/test/folder.ts';
import { answer, useReceiver } from '../../packages/server/test/receiver.ts';
import { useS3 } from '../../packages/server/test/s3.ts';
import { createJob, downloadFile, untilCompleted } from '../lib/exports.ts';
import { ingestBatch } from '../lib/ingest.ts';
import { createInstallation, type Service, useInstallation } from '../lib/installation.ts';
import { startLoad } from '../lib/load.ts';
import { query, withPostgres } from '../lib/postgres.ts';
import { makeRecord } from '../lib/records.ts';
import { runRetention, verifyAll, viewTenant } from '../lib/retention.ts';
import { waitFor } from '../lib/wait-for.ts';
import { addEndpoint, report, untilDelivery, webhookSettings } from '../lib/webhooks.ts';

const settings = { ...webhookSettings };
const passphrase = { SVC_BACKUP_PASSPHRASE: 'correct horse battery staple' };

const installation = useInstallation();
const place = useFolder('once');
const receiver = useReceiver();
const s3 = useS3();

const patienceMillis = 240_000;

/** Runs a command of the documents to its end, which must be a good one. */
async function run(
  args: readonly string[],
  env: Record<string, string> = {},
  where = installation,
): Promise<string> {
  const started = where.spawnCommand(args, { ...settings, ...env });
  const { code } = await waitFor(`svcctl ${args[0]} to end`, () => started.exit(), patienceMillis);
  expect(code, `${args.join(' ')}:\n${started.output()}`).toBe(0);
  return started.output();
}

/** What a client sees that must be the same after the restore. The load writes to TX alone. */
async function look(service: Service) {
  const { json: dlq } = await service.call('GET', '/webhook/dlq?status=abandoned');
  const { json: tokens } = await service.call('GET', '/tokens');
  const { json: endpoints } = await service.call('GET', '/webhook/endpoints');
  return {
    quiet: await viewTenant(service, 'QUIET'),
    deadLetters: dlq.data,
    tokens: tokens.data.map(({ id, name, scopes }: Record<string, unknown>) => [id, name, scopes]),
    endpoints: endpoints.data.map(({ id, url }: Record<string, unknown>) => [id, url]),
  };
}

test(
  'what the documents say brings everything back: backup under load, loss of the data folder, restore',
  async () => {
    const service = await installation.start(settings);
    const quiet = (count: number, name: string) =>
      Array.from({ length: count }, (_, n) => makeRecord(`${name}-${n}`, n, { tenant: 'QUIET' }));
    await ingestBatch(service, quiet(900, 'cold'));
    await runRetention(service, { before: '2001-03-01' });
    await ingestBatch(service, quiet(500, 'hot'));
    const job = await untilCompleted(
      service,
      (await createJob(service, 'csv', { tenant: 'QUIET' })).id,
    );
    const file = await downloadFile(service, job.id);
    receiver.behave(({ path }) => answer(path === '/good' ? 204 : 500));
    const made = await service.call('POST', '/webhook/endpoints', {
      body: { tenant: 'TX', url: receiver.url('/good') },
    });
    await addEndpoint(service, receiver.url('/bad'), { max_attempts: 1 });
    const deliveries = await report(service, 3);
    for (const { id, endpoint_id } of deliveries) {
      await untilDelivery(service, id, endpoint_id === made.json.id ? 'delivered' : 'abandoned');
    }
    const adminToken = await readFile(join(installation.dataDir, 'admin-token'), 'utf8');
    const before = await look(service);
    expect(before.deadLetters).toHaveLength(3);

    const load = startLoad(service);
    await waitFor('the load to write', () => load.counts().acknowledged > 5);
    const acknowledged = load.acknowledgedIds().slice();
    await run(['backup', '--out', place.path, '--with-key', '--verify'], passphrase);
    await load.stop();
    expect(load.faults()).toEqual([]);
    await run(['backup', 'verify', place.path]);
    await run(['restore', place.path, '--drill'], passphrase);

    await service.kill();
    await installation.signalPostgres('SIGQUIT');
    await waitFor('PostgreSQL to end', async () => {
      const left = await installation.listPostgresProcesses();
      return left.length === 0;
    });
    for (const name of await readdir(installation.dataDir)) {
      await rm(join(installation.dataDir, name), { recursive: true });
    }
    await run(['restore', place.path], passphrase);

    // The token is not in the backup, but what it is compared with is.
    await writeFile(join(installation.dataDir, 'admin-token'), adminToken);
    const restored = await installation.start(settings);
    expect(await look(restored)).toEqual(before);
    expect((await downloadFile(restored, job.id)).equals(file)).toBe(true);
    const { ids } = await viewTenant(restored, 'TX');
    const found = new Set(ids);
    expect(acknowledged.filter((id) => !found.has(id))).toEqual([]);
    expect(await verifyAll(restored)).toMatchObject({ state: 'completed', ok: true });
    const came = receiver.requests.length;
    await report(restored);
    await receiver.waitUntil((all) => all.slice(came).some(({ path }) => path === '/good'));
    const signed = receiver.requests.slice(came).find(({ path }) => path === '/good');
    new Webhook(made.json.secret).verify(signed?.body ?? '', signed?.headers ?? {});
    await restored.stop();
  },
  patienceMillis,
);

test(
  'a backup that is killed is none, and the next one goes on',
  async () => {
    const service = await installation.start(settings);
    const url = await installation.postgresUrl();
    const out = s3.urlOf('killed');
    const env = { ...settings, ...s3Environment() };
    await withPostgres(url, async (client) => {
      // The backup reaches this table, and waits.
      await client.query('begin; lock table tags in access exclusive mode');
      const running = installation.spawnCommand(['backup', '--out', out], env);
      await waitFor('the backup to wait', async () => {
        const waiting = await query(
          url,
          `select from pg_locks where not granted and relation = 'tags'::regclass`,
        );
        return waiting.length > 0;
      });
      await running.kill();
      await client.query('rollback');
    });
    expect(await run(['backup', 'ls', out], env)).not.toContain('Z-');
    const none = await installation.run(['backup', 'verify', out], env);
    expect(none).toMatchObject({ code: 3, output: expect.stringContaining('backup_not_found') });
    await run(['backup', '--out', out, '--verify'], env);
    const runs = await query(
      url,
      `select error_code from backups where place like 's3:%' order by started_at`,
    );
    expect(runs).toEqual([{ error_code: 'interrupted' }, { error_code: null }]);
    await service.stop();
  },
  patienceMillis,
);

test(
  'a restore that is killed starts no service, and the next one goes on',
  async () => {
    const target = await createInstallation('nothing');
    try {
      const from = s3.urlOf('killed');
      const env = { ...settings, ...s3Environment() };
      // Objects come after the tables.
      s3.behave((method, path) =>
        method === 'GET' && /\/objects\/\w+\/records\//.test(path) ? 'hang' : 'pass',
      );
      const asked = s3.seen(({ behaviour }) => behaviour === 'hang');
      const running = target.spawnCommand(['restore', from], env);
      await asked;
      await running.kill();
      s3.behave(() => 'pass');
      const refused = await target.run(['serve'], env);
      expect(refused.code).toBe(1);
      expect(refused.output).toContain('half restored');
      expect(await run(['restore', from], env, target)).toContain('Verified: no difference.');
    } finally {
      await target.remove();
    }
  },
  patienceMillis,
);

/** The credentials that the server of S3 has put into this process. */
function s3Environment(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(process.env).filter(
      (entry): entry is [string, string] => entry[0].startsWith('AWS_') && entry[1] !== undefined,
    ),
  );
}
