import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { expect, test, vi } from 'vitest';
import { madeFolder } from '../../../test/folder.ts';
import { useTestService } from '../../../test/service.ts';
import { listDeliveries } from '../jobs/delivery-queries.ts';
import { schedulesOf } from './testing/schedules-of.ts';

const root = madeFolder();
const service = useTestService({ SVC_EXPORT_ROOTS: root });

const { read, begin, change, ended, store, ...schedules } = schedulesOf(() => service);
const make = async (tenant: string, to: string): Promise<string> =>
  (await schedules.make({ tenant, to })).id;

test('a schedule delivers at its new place, and what it delivered stays and is known', async () => {
  const id = await make('M', `${root}/old/{tenant}`);
  await store('M', ['a', 'b']);
  await begin(id);
  const first = await ended(id);
  const changed = await change(id, { to: `${root}/new/{schedule}` });
  expect(changed.json).toMatchObject({ to: `${root}/new/{schedule}`, last_run: { id: first.id } });
  await store('M', ['c']);
  await begin(id);
  const second = await ended(id, first.id);
  expect(second).toMatchObject({ rows: 1, delivered_to: expect.stringContaining(`${root}/new/`) });
  expect(await readdir(first.delivered_to)).toContain('_SUCCESS');
  expect(await readdir(second.delivered_to)).toContain('_SUCCESS');
  // Its runs, and the receipt of an erasure, name both.
  const runs = await service.all(`/exports?schedule=${id}&limit=10`);
  const folders = [second.delivered_to, first.delivered_to];
  expect(runs.map((run) => run.delivered_to)).toEqual(folders);
  const gone = { stores: ['A'], days: ['2001-03-01'], limit: 10 };
  expect(await listDeliveries(service.db, 'M', gone)).toEqual(folders);
  const [entry] = (await service.call('GET', '/audit?action=schedule.change')).json.data;
  expect(entry).toMatchObject({
    before: { to: `${root}/old/{tenant}` },
    after: { to: `${root}/new/{schedule}` },
  });
});

test('a run under way ends where it began, and nothing of it goes to the new place', async () => {
  const id = await make('U', `${root}/slow`);
  await store('U', ['a', 'b', 'c']);
  // A file stands where the run makes its folder, so that no attempt comes to an end.
  await writeFile(join(root, 'slow'), '');
  await begin(id);
  const hasFailed = async () => {
    const [job] = await service.all(`/exports?schedule=${id}&limit=1`);
    return job?.attempts > 0 && job;
  };
  const { id: run } = await vi.waitUntil(hasFailed, { timeout: 60_000, interval: 50 });
  for (const to of [`${root}/middle`, `${root}/fast`]) {
    expect((await change(id, { to })).json).toMatchObject({ to, state: 'running' });
  }
  await store('U', ['d']);
  await rm(join(root, 'slow'));
  await mkdir(join(root, 'slow'));
  await service.db.query(sql`update exports set due_at = null, failures = 0 where id = ${run}`);
  const first = await ended(id);
  expect(first).toMatchObject({ id: run, rows: 3 });
  expect(first.delivered_to).toMatch(new RegExp(`^${root}/slow/`));
  await begin(id);
  const second = await ended(id, run);
  expect(second).toMatchObject({ rows: 1, delivered_to: expect.stringMatching(/\/fast\//) });
  expect(await readdir(root)).not.toContain('middle');
});

test('a place that cannot be used changes nothing', async () => {
  const id = await make('N', `${root}/kept`);
  const before = await read(id);
  await writeFile(join(root, 'file'), '');
  for (const [body, code] of [
    [{ to: '/etc/exports' }, 'export_target_refused'],
    [{ to: `${root}/file/x` }, 'export_target_unusable'],
    [{ to: 'relative' }, 'request_invalid'],
    [{ to: 's3://acme/x?region=eu-central-1' }, 'request_invalid'],
    [{ to: `${root}/x`, cron: 'never' }, 'request_invalid'],
  ] as const) {
    const answer = await change(id, body);
    expect([answer.status, answer.json.code], JSON.stringify(body)).toEqual([400, code]);
  }
  expect(await read(id)).toEqual(before);
});

test('of two who lead a schedule elsewhere at once, one comes after the other', async () => {
  const id = await make('W', `${root}/w0`);
  const places = Array.from({ length: 6 }, (_, n) => `${root}/w${n + 1}`);
  const answers = await Promise.all(places.map((to) => change(id, { to })));
  expect(answers.map(({ json }) => json.to)).toEqual(places);
  const { data } = (await service.call('GET', '/audit?action=schedule.change&limit=6')).json;
  const steps = data.map((entry: { before: { to: string }; after: { to: string } }) => entry);
  for (const [n, { before }] of steps.entries()) {
    expect(before.to).toBe(steps[n + 1]?.after.to ?? `${root}/w0`);
  }
});
