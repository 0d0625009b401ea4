import { createHash } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { expect, test, vi } from 'vitest';
import { madeFolder } from '../../../test/folder.ts';
import { startReceiver } from '../../../test/receiver.ts';
import { useTestService } from '../../../test/service.ts';
import { schedulesOf } from './testing/schedules-of.ts';

const root = madeFolder();
const service = useTestService(
  { SVC_EXPORT_ROOTS: root, SVC_ROLES: 'api,drainer,exports', SVC_ALLOW_TARGETS: '127.0.0.0/8' },
  undefined,
  { waits: { exportLookMillis: 200 } },
);

const { read, begin, change, ended, store, ...schedules } = schedulesOf(() => service);
const make = async (tenant: string, more: object = {}): Promise<string> =>
  (await schedules.make({ tenant, to: `${root}/${tenant}`, ...more })).id;
const until = <T>(look: () => Promise<T | false>): Promise<T> =>
  vi.waitUntil(look, { timeout: 60_000, interval: 50 });
const incidents = (tenant: string) => service.all(`/incidents?tenant=${tenant}&limit=50`);
const untold = (id: string, is: boolean) =>
  service.db.query(sql`select from exports where schedule_id = ${id} and untold = ${is}`);

test('a delivered run is reported once, to endpoints that ask for it, with what it delivered', async () => {
  const receiver = await startReceiver();
  const target = { tenant: 'D', url: receiver.url(), event_types: ['svcctl.export.delivered'] };
  const made = await service.call('POST', '/webhook/endpoints', { body: target });
  expect(made.json.warnings).toEqual([]);
  const id = await make('D', { webhook: true, name: 'nightly' });
  await store('D', ['a', 'b']);
  await begin(id);
  const run = await ended(id);
  const [request] = await receiver.waitFor(1);
  const payload = JSON.parse(request?.body ?? '');
  const manifest = await readFile(`${run.delivered_to}/manifest.json`);
  const { files, recorded_before } = JSON.parse(manifest.toString());
  expect(payload).toEqual({
    type: 'svcctl.export.delivered',
    timestamp: run.delivered_at,
    data: {
      tenant: 'D',
      schedule: { id, name: 'nightly' },
      export_id: run.id,
      format: 'ndjson',
      recorded_from: null,
      recorded_before,
      delivered_to: run.delivered_to,
      rows: 2,
      bytes: files[0].bytes,
      files: 1,
      error_code: null,
      error: null,
      misfits: null,
      skipped: null,
      manifest: `${run.delivered_to}/manifest.json`,
      manifest_sha256: createHash('sha256').update(manifest).digest('hex'),
    },
  });
  // As after a kill between the incident and the note that it was reported.
  await until(async () => (await untold(id, false)).length === 1);
  await service.db.query(sql`update exports set untold = true where schedule_id = ${id}`);
  await until(async () => (await untold(id, false)).length === 1);
  expect(await incidents('D')).toHaveLength(1);
  expect(receiver.requests).toHaveLength(1);
  await receiver.close();
});

test('a run that failed is reported with its error, and nothing where nobody asked', async () => {
  const [told, silent] = [await make('F', { webhook: true }), await make('S')];
  await Promise.all([store('F', ['a']), store('S', ['a'])]);
  await writeFile(join(root, 'F'), 'a file stands where the folders would');
  await begin(told);
  await until(async () => {
    await service.db.query(sql`
      update exports set due_at = null, failures = 4 where schedule_id = ${told} and attempts > 0`);
    return (await read(told)).state === 'failing';
  });
  await begin(silent);
  await ended(silent);
  const { error } = await ended(told);
  const [incident] = await until(async () => {
    const found = await incidents('F');
    return found.length === 1 && found;
  });
  const { data, type } = (await service.call('GET', `/incidents/${incident.id}`)).json;
  expect({ type, data }).toMatchObject({
    type: 'svcctl.export.failed',
    data: { error, error_code: 'export_target_unusable', manifest: null, rows: null },
  });
  expect(await incidents('S')).toEqual([]);
});

test('it can be asked for while a run is under way, and taken back', async () => {
  const [on, off] = [await make('N'), await make('O', { webhook: true })];
  for (const [tenant, id, webhook] of [
    ['N', on, true],
    ['O', off, false],
  ] as const) {
    await store(tenant, ['a']);
    await writeFile(join(root, tenant), '');
    await begin(id);
    await until(
      async () => (await service.all(`/exports?schedule=${id}&limit=1`))[0]?.attempts > 0,
    );
    const { json } = await change(id, { webhook });
    expect(json).toMatchObject({ webhook, state: 'running' });
    await rm(join(root, tenant));
    await service.db.query(sql`update exports set due_at = null where schedule_id = ${id}`);
    await ended(id);
  }
  await until(async () => (await incidents('N')).length === 1);
  expect(await untold(off, false)).toHaveLength(1);
  expect(await incidents('O')).toEqual([]);
});

test('nobody else reports incidents of these types', async () => {
  const body = { tenant: 'X', type: 'svcctl.export.delivered', data: {} };
  const answer = await service.call('POST', '/incidents', { body });
  expect(answer.json).toMatchObject({ code: 'request_invalid', errors: [{ path: '/type' }] });
});
