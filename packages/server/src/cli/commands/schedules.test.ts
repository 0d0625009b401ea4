import { expect, test } from 'vitest';
import { rowOf } from '../testing/answers.ts';
import { prepareCli } from '../testing/prepare-cli.ts';
import { json, pages } from '../testing/receiver.ts';
import { ends } from '../testing/run.ts';

const { api, cli } = prepareCli();

const made = rowOf('GET /exports/schedules', {
  id: 'sch_1',
  tenant: 'TX',
  name: 'nightly',
  cron: '0 2 * * *',
  format: 'parquet',
  request: { tenant: 'TX' },
  to: 's3://acme/x',
  access_key_id: 'AK',
  state: 'waiting',
  due_at: '2026-03-06T02:00:00.000000Z',
  webhook: true,
  created_by: 'ops',
});
const bodyOf = () => JSON.parse(String(api.requests.at(-1)?.body));

test('schedules create sends what was given, with the secret from stdin, and prints the id', async () => {
  api.on('POST /exports/schedules', json(made, 201));
  const more = '--access-key-id AK --secret-access-key - --columns event_id,kind --starts now';
  const words = `schedules create --tenant TX --to s3://acme/x ${more} --webhook --typed --cron`;
  const running = cli([...words.split(' '), '0 2 * * *'], { stdin: 'SECRET\n' });
  await ends(running, 0, 'sch_1\n', ['Made nightly of TX.']);
  expect(bodyOf()).toEqual({
    tenant: 'TX',
    cron: '0 2 * * *',
    to: 's3://acme/x',
    format: 'parquet',
    starts: 'now',
    columns: ['event_id', 'kind'],
    webhook: true,
    typed: true,
    credentials: { access_key_id: 'AK', secret_access_key: 'SECRET' },
  });
});

test('schedules create takes a template by name or out of a file, as an export does', async () => {
  api.on('POST /exports/schedules', json(made, 201));
  const create = 'schedules create --tenant T --cron x --to /x --format ndjson --template';
  await ends(cli(`${create} openai-chat --missing refuse`), 0, 'sch_1\n', []);
  expect(bodyOf()).toMatchObject({ template: 'openai-chat', missing: 'refuse' });
  expect(await cli(`${create} nosuch`)).toMatchObject({ code: 2 });
});

test('a key without its secret, and a change of nothing, are refused before anything is asked', async () => {
  const create = 'schedules create --tenant T --cron x --to /x --access-key-id AK';
  expect(await cli(create)).toMatchObject({ code: 2, stderr: expect.stringMatching(/need each/) });
  expect((await cli('schedules change sch_1')).code).toBe(2);
  expect(api.requests).toEqual([]);
});

test('schedules change sends a new place, and says where a run under way ends', async () => {
  api.on('PATCH /exports/schedules/sch_1', json({ ...made, state: 'running' }));
  const running = cli('schedules change sch_1 --to s3://acme/y', { isTerminal: true });
  await ends(running, 0, '', ['Changed nightly.', 'ends where it began']);
  expect(bodyOf()).toEqual({ to: 's3://acme/y' });
  await ends(cli('schedules change sch_1 --webhook off'), 0, '', ['Changed nightly.']);
  expect(bodyOf()).toEqual({ webhook: false });
});

test('schedules pause and resume say how it goes on, and history asks for its runs', async () => {
  api.on('PATCH /exports/schedules/sch_1', json({ ...made, due_at: null, state: 'paused' }));
  await ends(cli('schedules pause sch_1'), 0, '', ['Paused nightly.']);
  expect(bodyOf()).toEqual({ enabled: false });
  api.on('PATCH /exports/schedules/sch_1', json(made));
  await ends(cli('schedules resume sch_1'), 0, '', ['Its next run: 2026-03-06 02:00:00']);
  api.on('GET /exports', pages([]));
  await ends(cli('schedules history sch_1 --json'), 0, '[]\n', []);
  expect(api.requests.at(-1)?.query).toMatchObject({ schedule: 'sch_1' });
});

test('schedules show tells what it delivered, and why its last run failed', async () => {
  const last = {
    misfits: 1234,
    skipped: null,
    id: 'exp_1',
    state: 'failed',
    rows: 7,
    delivered_to: 's3://acme/x/1',
    delivered_at: null,
    created_at: '2026-03-05T02:00:00.000000Z',
    error: 'the store says AccessDenied',
  };
  api.on('GET /exports/schedules/sch_1', json({ ...made, state: 'failing', last_run: last }));
  const { stdout } = await cli('schedules show sch_1', { isTerminal: true, columns: 140 });
  for (const text of [
    'failing',
    'svcctl.export.failed',
    '1,234',
    'exp_1, failed',
    's3://acme/x/1',
    'AccessDenied',
    '(UTC)',
  ]) {
    expect(stdout).toContain(text);
  }
  const env = { ...api.env, TZ: 'Asia/Tokyo' };
  const local = await cli('schedules show sch_1 --local', { env, isTerminal: true, columns: 140 });
  expect(local.stdout).toContain('exp_1, failed, 2026-03-05 11:00:00 +09:00, ');
  // The cron of a schedule is in UTC for whoever looks at it.
  expect(local.stdout).toContain('(UTC)');
});

test('schedules show tells of a delivered run whose file was erased since, and of no error', async () => {
  const error = 'Records of its slice were erased on request.';
  const created_at = '2026-03-05T02:00:00.000000Z';
  const last_run = { id: 'exp_1', state: 'erased', rows: 7, created_at, error };
  api.on('GET /exports/schedules/sch_1', json({ ...made, last_run }));
  const { stdout } = await cli('schedules show sch_1', { isTerminal: true, columns: 140 });
  expect(stdout).toMatch(/^since then +Records of its slice were erased/m);
  expect(stdout).not.toMatch(/^error/m);
});
