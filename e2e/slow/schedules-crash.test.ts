import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { useFolder } from '../../packages/server/test/folder.ts';
import { ingestStream } from '../lib/ingest.ts';
import { useInstallation } from '../lib/installation.ts';
import { makeRecord } from '../lib/records.ts';
import { waitFor } from '../lib/wait-for.ts';

const installation = useInstallation('each');
const root = useFolder();

/** The names of all files of all runs, as `folder/name`. */
async function listFiles(): Promise<string[]> {
  const folders = await readdir(root.path).catch(() => []);
  const own = folders.filter((name) => !name.startsWith('.'));
  const names = own.map(async (name) =>
    (await readdir(join(root.path, name))).map((f) => `${name}/${f}`),
  );
  return (await Promise.all(names)).flat();
}

test('a schedule delivers each record once, though its service is killed at each step of a run', async () => {
  const settings = { SVC_LOG_LEVEL: 'error', SVC_EXPORT_ROOTS: root.path };
  let service = await installation.start(settings);
  const ids: string[] = [];
  const store = async (count: number) => {
    const first = ids.length;
    const records = Array.from({ length: count }, (_, n) =>
      makeRecord(`e-${first + n}`, first + n, { enrichment: { text: `${n} `.repeat(1000) } }),
    );
    ids.push(...records.map((record) => String(record.event_id)));
    await ingestStream(service, records);
  };
  await store(20_000);
  const body = { tenant: 'TX', cron: '0 2 * * *', format: 'ndjson', to: root.path };
  const { id } = (await service.call('POST', '/exports/schedules', { body })).json;
  const read = async () => (await service.call('GET', `/exports/schedules/${id}`)).json;
  const begin = () => service.call('POST', `/exports/schedules/${id}/run`);
  const has = (name: string, before: ReadonlySet<string>) => async () =>
    (await listFiles()).some((file) => !before.has(file) && file.endsWith(name));
  const steps = [
    { name: 'its job', is: () => async () => (await read()).state === 'running' },
    { name: 'its first file', is: (before: Set<string>) => has('part-00001.ndjson', before) },
    { name: 'its manifest', is: (before: Set<string>) => has('manifest.json', before) },
    { name: 'its marker', is: (before: Set<string>) => has('_SUCCESS', before) },
  ];
  for (const { name, is } of steps) {
    await store(500);
    const before = new Set(await listFiles());
    await begin();
    await waitFor(name, is(before));
    await service.kill();
    service = await installation.start(settings);
    await waitFor('the run to be delivered', async () => {
      const { state, last_run: last } = await read();
      if (state === 'failing') throw new Error(last.error);
      return last?.delivered_at !== null && state === 'waiting';
    });
  }
  const files = await listFiles();
  const delivered: string[] = [];
  for (const success of files.filter((file) => file.endsWith('/_SUCCESS'))) {
    const folder = join(root.path, success, '..');
    const manifest = await readFile(join(folder, 'manifest.json'));
    const sha256 = createHash('sha256').update(manifest).digest('hex');
    expect((await readFile(join(folder, '_SUCCESS'), 'utf8')).trim()).toBe(sha256);
    for (const file of JSON.parse(manifest.toString()).files) {
      const bytes = await readFile(join(folder, file.name));
      expect(createHash('sha256').update(bytes).digest('hex')).toBe(file.sha256);
      const lines = bytes.toString().trim().split('\n');
      delivered.push(...lines.map((line) => JSON.parse(line).event_id));
    }
  }
  expect(delivered.length).toBe(ids.length);
  expect(delivered.sort()).toEqual(ids.sort());
}, 300_000);
