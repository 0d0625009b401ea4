import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { expect, test, vi } from 'vitest';
import { startS3 } from '../../../test/s3.ts';
import { startTestService } from '../../../test/service.ts';
import { use } from '../../../test/use.ts';
import { createS3Store } from '../../platform/objects/s3.ts';
import { usualLimits } from '../../platform/objects/s3-client.ts';
import { schedulesOf } from './testing/schedules-of.ts';

const world = use(
  async () => {
    const s3 = await startS3();
    const origin = new URL(new URL(s3.url).searchParams.get('endpoint') ?? '').origin;
    const service = await startTestService({ SVC_EXPORT_ROOTS: origin });
    return { s3, service };
  },
  async ({ s3, service }) => {
    await service.stop();
    await s3.close();
  },
);

// The server knows one key, which the environment of this process has.
const keyOf = () => ({
  access_key_id: process.env['AWS_ACCESS_KEY_ID'] ?? '',
  secret_access_key: process.env['AWS_SECRET_ACCESS_KEY'] ?? '',
});
const { read, run, ask, begin, change, store } = schedulesOf(() => world.service);
const make = (tenant: string, more: object = {}) => {
  const to = world.s3.urlOf('out of us/{tenant}/{date}');
  return ask({ tenant, format: 'parquet', to, credentials: keyOf(), ...more });
};
async function list(): Promise<string[]> {
  const bucket = await createS3Store(world.s3.urlOf('out of us'), usualLimits);
  const keys: string[] = [];
  for await (const { key } of bucket.list('')) keys.push(key);
  await bucket.close();
  return keys.sort();
}

test('a schedule delivers to a bucket with a key of its own, and nobody reads its secret', async () => {
  const { service, s3 } = world;
  await store('S', ['a', 'b', 'c']);
  const made = await make('S');
  expect(made.status, made.text).toBe(201);
  const { id } = made.json;
  expect(await list()).toEqual([]);
  s3.clear();
  await run(id);
  const row = await read(id);
  const today = new Date().toISOString().slice(0, 10);
  const names = (await list()).map((key) => key.split('/').at(-1));
  expect(names).toEqual(['_SUCCESS', 'manifest.json', 'part-00001.parquet']);
  expect((await list())[0]).toMatch(new RegExp(`^S/${today}/`));
  // Whatever is read only on the way out was signed with the key.
  expect(
    s3.requests.every((each) => each.headers.authorization?.includes(keyOf().access_key_id)),
  ).toBe(true);
  const puts = s3.requests.filter((each) => each.method === 'PUT').map((each) => each.path);
  expect(puts.at(-1)).toContain('_SUCCESS');
  const shown = JSON.stringify([row, (await service.call('GET', '/audit')).json]);
  expect(row.access_key_id).toBe(keyOf().access_key_id);
  const [stored] = await service.db.query<{ secret: Buffer }>(
    sql`select secret from export_schedules where id = ${id}`,
  );
  expect(stored?.secret.toString('latin1')).not.toContain(keyOf().secret_access_key);
  expect(shown).not.toMatch(/"secret/);
  // Nothing of the delivery is left on the local disk.
  await expect(readFile(join(service.dataDir, 'spool', 'part-00001.parquet'))).rejects.toThrow();
});

test('a key that was revoked fails the run, and a new one delivers all of it', async () => {
  const { service, s3 } = world;
  await store('K', ['a']);
  const { id } = (await make('K')).json;
  s3.behave(() => 'deny');
  await begin(id);
  // The service looks for jobs every two seconds, so a try is made the last of five.
  await vi.waitUntil(
    async () => {
      await service.db.query(
        sql`update exports set failures = 4, due_at = null where tenant = 'K'`,
      );
      return (await read(id)).state === 'failing';
    },
    { timeout: 120_000, interval: 100 },
  );
  const { last_run: last } = await read(id);
  expect(last.error).toContain('AccessDenied');
  expect(last.error).not.toContain('SVC_BLOB_URL');
  const renew = () => change(id, { credentials: keyOf() });
  // A key that does not work either changes nothing.
  expect((await renew()).json).toMatchObject({ code: 'export_target_unusable' });
  s3.behave(() => 'pass');
  expect((await renew()).status).toBe(200);
  await store('K', ['b']);
  await run(id);
  expect((await read(id)).last_run.rows).toBe(2);
});

test('another folder of the same bucket keeps its key, another place does not', async () => {
  const { s3 } = world;
  const { id } = (await make('L')).json;
  const to = s3.urlOf('out of us/elsewhere');
  const moved = await change(id, { to });
  expect(moved.json, moved.text).toMatchObject({ to, access_key_id: keyOf().access_key_id });
  await store('L', ['a']);
  s3.clear();
  await run(id);
  expect((await list()).filter((key) => key.startsWith('elsewhere/'))).toHaveLength(3);
  expect(s3.requests[0]?.headers.authorization).toContain(keyOf().access_key_id);
  const other = await change(id, { to: to.replace(/s3:\/\/[^/]+/, 's3://another-bucket') });
  expect(other.json.errors).toMatchObject([{ path: '/credentials' }]);
  expect(await read(id)).toMatchObject({ to });
});

test('a key that may write below a folder alone is tried there', async () => {
  const { s3 } = world;
  const to = s3.urlOf('out of us/own');
  s3.behave((_, path) => (path.includes('/own/') ? 'pass' : 'deny'));
  const made = await make('O', { to });
  expect(made.status, made.text).toBe(201);
  s3.behave((_, path) => (path.includes('/own/') ? 'deny' : 'pass'));
  expect((await make('O', { to })).json.code).toBe('export_target_unusable');
  s3.behave(() => 'pass');
});

test('a bucket is refused that cannot be written, read and cleared', async () => {
  const { s3 } = world;
  for (const method of ['PUT', 'GET', 'DELETE']) {
    s3.behave((each) => (each === method ? 'deny' : 'pass'));
    const answer = await make('N');
    expect([answer.status, answer.json.code], method).toEqual([400, 'export_target_unusable']);
    expect(answer.json.detail).toContain('AccessDenied');
  }
  s3.behave(() => 'pass');
  expect(await world.service.all('/exports/schedules?tenant=N')).toEqual([]);
});
