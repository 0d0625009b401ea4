import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ExportJob } from './exports/jobs.ts';
import { answerOf } from './testing/answers.ts';
import { completedJob, manifestOf, offerFile } from './testing/export-jobs.ts';
import { prepareCli } from './testing/prepare-cli.ts';
import { inTurn, json, pages, problem } from './testing/receiver.ts';
import { ends, useFolder } from './testing/run.ts';

const folder = useFolder();
const { api, cli, jsonOf } = prepareCli(folder);

const content = Buffer.from('"event_id"\n"a"\n');
const done = completedJob(content, { format: 'csv', file_name: 'TX_2001-02.csv' });
const queued: ExportJob = answerOf('GET /exports/:id', {
  id: 'exp_1',
  tenant: 'TX',
  request: done.request,
  file_name: done.file_name,
  requested_by: 'ops',
});
const running: ExportJob = {
  ...queued,
  state: 'running',
  rows_done: 364_120,
  rows_total: 512_991,
  percent: 70.97,
  rows_per_second: 122_000,
  eta_s: 2,
  bytes: 92_000_000,
  attempts: 2,
  started_at: '2026-03-05T10:00:01.000000Z',
};
const failed: ExportJob = {
  ...running,
  id: 'exp_2',
  state: 'failed',
  rows_per_second: null,
  eta_s: null,
  finished_at: '2026-03-05T10:00:09.000000Z',
  error_code: 'export_mismatch',
  error: '1 row is missing.',
};

const exporting = 'analytics export --tenant TX --month 2001-02 --async';
const files = async () => (await readdir(folder.path)).sort();
/** A job, and how it goes on; its file at the end. */
const offerJob = (...states: ExportJob[]) => {
  offerFile(api, content, { job: { format: 'csv', file_name: 'TX_2001-02.csv' } });
  api.on('POST /exports/csv', json(queued, 202));
  api.on('GET /exports/exp_1', inTurn(...states));
};

describe('analytics export --async', () => {
  test('asks for nothing when the file exists already', async () => {
    await writeFile(join(folder.path, 'x'), 'precious');
    expect((await cli(`${exporting} --out x`)).code).toBe(1);
    expect(api.requests).toEqual([]);
  });

  test('says so when a service knows no jobs', async () => {
    api.on('POST /exports/csv', (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/csv' }).end('"a"\n');
    });
    expect((await cli(`${exporting} --out x`)).stderr).toContain('(answer_unexpected)');
  });

  test('ends with 1 when the job fails, and keeps no file', async () => {
    offerJob(running, { ...failed, id: 'exp_1' });
    await ends(cli(`${exporting} --out x`), 1, ['exp_1 failed: 1 row is missing']);
    expect(await files()).toEqual([]);
  });

  test('ends with 6 when somebody cancels it', async () => {
    offerJob(running, { ...running, state: 'cancelled' });
    expect((await cli(`${exporting} --out x`)).code).toBe(6);
  });

  test('Ctrl-C leaves the job at work, and says how to follow or cancel it', async () => {
    const interrupt = new AbortController();
    offerJob(running);
    api.on('GET /exports/exp_1', (request, response) => {
      json(running)(request, response);
      interrupt.abort();
    });
    await ends(cli(`${exporting} --out x`, { signal: interrupt.signal }), 130, [
      'svcctl exports get exp_1 --wait · stop it: svcctl exports cancel exp_1',
    ]);
    expect(api.requests.some(({ method }) => method === 'DELETE')).toBe(false);
    expect(await files()).toEqual([]);
  });

  test('asks for a job, follows it, and keeps the file when all is equal', async () => {
    offerJob(queued, running, done);
    await ends(cli(`${exporting} --out x.csv`), 0, '', [
      /^✓ x\.csv: 512,991 rows · 15 B · sha-256 .* and manifest equal · /,
    ]);
    const [asked] = api.requests;
    expect(asked?.headers.prefer).toBe('respond-async');
    expect(JSON.parse(String(asked?.body))).toEqual({ tenant: 'TX', month: '2001-02' });
    expect(await readFile(join(folder.path, 'x.csv'))).toEqual(content);
  });

  test('sends a template out of a file, and tells which records it skipped', async () => {
    const template = { a: '{{b}}' };
    await writeFile(join(folder.path, 't.json'), JSON.stringify(template));
    offerJob(done);
    api.on('POST /exports/ndjson', json(queued, 202));
    const skipped = { rows: 1_000, fields: { b: 999, 'c.d': 1 } };
    const lines = { rows: 511_991, skipped };
    const manifest = manifestOf(done, lines);
    const parts = [{ ...manifest, rows: lines.rows }];
    api.on('GET /exports/exp_1/manifest', json({ ...manifest, parts }));
    const asking = exporting.replace('--async', '--format ndjson --template');
    await ends(cli(`${asking} @t.json --missing skip --out x`), 0, '', [
      /x: 511,991 rows/,
      'note: 1,000 records skipped, without a value for b (999), c.d (1)',
    ]);
    const asked = JSON.parse(String(api.requests[0]?.body)) as object;
    expect(asked).toMatchObject({ template, missing: 'skip' });
    api.on('GET /exports/exp_1/manifest', json({ ...manifest, parts, skipped: undefined }));
    expect((await cli(`${asking} @t.json --out y`)).code).toBe(1);
  });

  test.each([
    ['nothing', 'there is no template nothing'],
    ['@nothing.json', 'cannot be read'],
    ['@array.json', 'has no JSON object'],
    ['@text.json', 'is not JSON'],
  ])('refuses the template %s', async (word, message) => {
    await writeFile(join(folder.path, 'array.json'), '[1]');
    await writeFile(join(folder.path, 'text.json'), '{');
    const asking = exporting.replace('--async', `--format ndjson --template ${word}`);
    const { code, stderr } = await cli(`${asking} --out x`);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) });
    expect(api.requests).toEqual([]);
  });

  test('in a pipe the file goes to stdout', async () => {
    offerJob(done);
    expect(await cli(exporting)).toMatchObject({ code: 0, stdout: content.toString(), stderr: '' });
  });

  test('draws percent, rows, rate and time left, as the service tells them', async () => {
    offerJob(running, running, done);
    let at = 0;
    const now = () => {
      at += 200;
      return at;
    };
    const { stderr } = await cli(exporting, { isTerminal: true, now });
    expect(stderr).toContain(
      'TX_2001-02.csv  ██████████████░░░░░░  70 %   364,120 of 512,991 rows   122,000 rows/s   0:02 left',
    );
    expect(await files()).toEqual(['TX_2001-02.csv']);
  });

  test('says once what a job waits for that stays queued', async () => {
    offerJob(...Array.from({ length: 20 }, () => queued), done);
    const { stderr } = await cli(`${exporting} --out x`);
    expect(stderr.match(/a process with the role exports/g)).toHaveLength(1);
  });

  test('--no-wait prints the id, or the job', async () => {
    offerJob(queued);
    expect(await cli(`${exporting} --no-wait`)).toMatchObject({ code: 0, stdout: 'exp_1\n' });
    const shown = await cli(`${exporting} --no-wait`, { isTerminal: true });
    expect(shown.stderr).toContain('svcctl exports get exp_1 --wait');
    expect(await jsonOf(`${exporting} --no-wait --json`)).toEqual(queued);
    expect(await files()).toEqual([]);
  });
});

test('ls lists jobs: a table, tabs, or JSON, at most as many as asked for', async () => {
  api.on('GET /exports', pages([JSON.stringify(running)], [JSON.stringify(failed)]));
  const piped = await cli('exports ls --tenant TX --state running');
  expect(piped.stdout).toBe(
    'exp_1\tTX\tcsv\trunning\t364120\t92000000\t2026-03-05T10:00:00.000000Z\tTX_2001-02.csv\n' +
      'exp_2\tTX\tcsv\tfailed\t364120\t92000000\t2026-03-05T10:00:00.000000Z\tTX_2001-02.csv\n',
  );
  expect(api.requests[0]?.query).toEqual({ tenant: 'TX', state: 'running', limit: '50' });
  const shown = await cli('exports ls --limit 1', { isTerminal: true });
  expect(shown.stdout).toMatch(/exp_1 +TX +csv +running, 70 % +364,120 of 512,991 +92\.0 MB/);
  expect(shown.stderr).toContain('1 export · more: --all');
  expect(await jsonOf('exports ls --json id,state')).toEqual([
    { id: 'exp_1', state: 'running' },
    { id: 'exp_2', state: 'failed' },
  ]);
});

test('show tells how far a job is, or why it failed', async () => {
  api.on('GET /exports/exp_1', json(running));
  api.on('GET /exports/exp_2', json(failed));
  expect((await cli('exports show exp_9')).code).toBe(3);
  const { stdout } = await cli('exports show exp_1', { isTerminal: true });
  expect(stdout).toMatch(/rows +364,120 of 512,991 rows {3}122,000 rows\/s {3}0:02 left\n/);
  expect(stdout).toMatch(/taken up +2 times\n/);
  const shown = await cli('exports show exp_2', { isTerminal: true });
  expect(shown.stdout).toMatch(/error +1 row is missing\. \(export_mismatch\)\n/);
  expect(await jsonOf('exports show exp_1')).toEqual(running);
  expect((await cli('exports show exp_1 --json percent')).stdout).toBe('{"percent":70.97}\n');
});

test('show --watch follows a job to its end, whatever that is', async () => {
  offerJob(running, running, { ...failed, id: 'exp_1' });
  await ends(cli('exports show exp_1 --watch --json state'), 0, '{"state":"failed"}\n', []);
});

test('cancel tells of each what became of it', async () => {
  api.on('DELETE /exports/exp_1', json({ ...running, state: 'cancelled' }));
  api.on('DELETE /exports/exp_2', json({ ...done, id: 'exp_2', has_file: false }));
  api.on('DELETE /exports/exp_9', problem(404, 'export_not_found', 'There is no such export.'));
  expect((await cli('exports cancel exp_9')).code).toBe(3);
  await ends(cli('exports cancel exp_1 exp_2 exp_9'), 7, [
    'Cancelled exp_1.\nexp_2 was completed. Its file is removed.\n✗ exp_9:',
  ]);
});
