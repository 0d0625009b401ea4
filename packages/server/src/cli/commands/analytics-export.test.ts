import { createHash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, test } from 'vitest';
import { offerFile } from '../testing/export-jobs.ts';
import { prepareCli, refusesUsage } from '../testing/prepare-cli.ts';
import { type Handler, json, pages, problem } from '../testing/receiver.ts';
import { ends, type RunOptions, useFolder } from '../testing/run.ts';

const folder = useFolder();
const { api, cli } = prepareCli(folder);
beforeEach(() =>
  api.on('GET /enrichment/datasets', json({ data: [{ count: 2 }], next_cursor: null })),
);

const csv = '"tenant","event_id"\n"TX","a\n""b"""\n"TX","c"\n';
const digestOf = (text: string | Buffer) =>
  `sha-256=:${createHash('sha256').update(text).digest('base64')}:`;

const halves = (text: string) => [text.slice(0, 20), text.slice(20)];

type Sent = {
  text?: string | Buffer;
  rows?: string;
  digest?: string | null;
  name?: string;
  end?: (r: ServerResponse) => void;
};

/** Streams a CSV as the service does. */
function sends(sent: Sent = {}): Handler {
  const { text = csv, rows = '2', digest = digestOf(text), name = 'TX_2001-02.csv' } = sent;
  return async (_request, response) => {
    response.writeHead(200, {
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': `attachment; filename="${name}"`,
      ...(rows === '' ? {} : { 'x-record-count': rows }),
      trailer: 'Repr-Digest',
    });
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += 7) {
      await new Promise((resolve) => response.write(bytes.subarray(at, at + 7), resolve));
    }
    if (digest !== null) response.addTrailers({ 'Repr-Digest': digest });
    if (sent.end === undefined) response.end();
    else sent.end(response);
  };
}

const words = ['analytics', 'export', '--tenant', 'TX', '--month', '2001-02'];
const exports = (argv: string[] = [], options: RunOptions = {}) =>
  cli([...words, ...argv], options);
const files = () => readdir(folder.path);

test('a whole export stands under its name, with what was proved', async () => {
  api.on('POST /exports/csv', sends());
  await ends(exports(['--out', 'tx.csv']), 0, '', [
    /^✓ tx\.csv: 2 rows, as many as its leaves hold · 44 B · sha-256 [0-9a-f]{4}…[0-9a-f]{2} equal · 0\.0 s\n$/,
  ]);
  expect(await readFile(join(folder.path, 'tx.csv'), 'utf8')).toBe(csv);
  expect(await files()).toEqual(['tx.csv']);
});

test('what a spreadsheet would cut is told before the download', async () => {
  api.on('GET /exports/estimate', json({ rows: 2, bytes: 9, files: {}, long_records: 3 }));
  const path = ['--out', 'tx.csv'];
  const { stderr } = await exports([...path, '--profile', 'spreadsheet', '--kind', 'k']);
  expect(stderr).toMatch(/^note: 3 records have more than 32,767 bytes/);
  expect(api.requests.map(({ path }) => path)).toEqual(['/exports/estimate', '/exports/csv']);
  expect(api.requests[0]?.query).toEqual({
    tenant: 'TX',
    month: '2001-02',
    kind: 'k',
    profile: 'spreadsheet',
  });
  expect((await exports(path)).stderr).not.toContain('note:');
});

test('the call says what was asked, and nothing else', async () => {
  api.on('POST /exports/csv', sends({ text: '"a"\n', rows: '1' }));
  await exports([
    ...[
      '--store',
      'DFW',
      '--kind',
      'k',
      '--dataset',
      'training',
      '--columns',
      'event_id, enrichment.a',
    ],
    ...['--style', 'spreadsheet', '--no-header', '--out', 'x.csv'],
  ]);
  const request = api.requests.find(({ method }) => method === 'POST');
  expect(JSON.parse(String(request?.body))).toEqual({
    tenant: 'TX',
    store: 'DFW',
    month: '2001-02',
    kind: 'k',
    dataset: 'training',
    columns: ['event_id', 'enrichment.a'],
    profile: 'spreadsheet',
    header: false,
  });
  expect(request?.headers['accept-encoding']).toBe('identity');
  expect(await files()).toEqual(['x.csv']);
});

describe('nothing stays under the name when', () => {
  test.each<[string, Sent, string]>([
    ['rows are missing', { rows: '3' }, '2 rows came, 3 were announced'],
    ['there are too many rows', { rows: '1' }, '2 rows came, 1 were announced'],
    ['the digest is another', { digest: digestOf('x') }, 'its sha-256 is'],
    ['the connection is cut', { end: (response) => response.destroy() }, ' of 2 rows'],
    ['nothing more comes', { end: () => {} }, 'it ended after 2 of 2 rows'],
  ])('%s', async (_name, sent, message) => {
    api.on('POST /exports/csv', sends(sent));
    await ends(exports(['--out', 'tx.csv'], { timeouts: { idleMillis: 100 } }), 1, [
      'the export is not whole:',
      message,
      '(export_mismatch)',
    ]);
    expect(await files()).toEqual([]);
  });

  test('it is interrupted', async () => {
    const interrupt = new AbortController();
    api.on('POST /exports/csv', sends({ end: () => interrupt.abort() }));
    const { code } = await exports(['--out', 'tx.csv'], { signal: interrupt.signal });
    expect(code).toBe(130);
    expect(await files()).toEqual([]);
  });

  test('the service refuses', async () => {
    api.on(
      'POST /exports/csv',
      problem(403, 'scope_missing', 'This token lacks the scope analytics:read.'),
    );
    await ends(exports(['--out', 'tx.csv']), 4, [
      'svcctl tokens create --name NAME --preset support-readonly',
    ]);
    expect(await files()).toEqual([]);
  });

  test('the row count is not announced', async () => {
    api.on('POST /exports/csv', sends({ rows: '' }));
    await ends(exports(['--out', 'tx.csv']), 1, ['(answer_unexpected)']);
    expect(await files()).toEqual([]);
  });
});

test('in a pipe the CSV goes to stdout, and nothing else', async () => {
  api.on('POST /exports/csv', sends());
  expect(await exports()).toMatchObject({ code: 0, stdout: csv, stderr: '' });
  expect(await files()).toEqual([]);
});

test('a mismatch in a pipe is an exit code and a warning', async () => {
  api.on('POST /exports/csv', sends({ rows: '3' }));
  await ends(exports(['--out', '-']), 1, csv, ['Do not use what was printed.']);
});

test.each([
  ['csv', csv, 'It has the 2 rows announced. Use --async.'],
  ['parquet', 'PAR1', '  Use --async.'],
])('without its digest what was printed of %s is not proved', async (format, text, said) => {
  api.on(`POST /exports/${format}`, sends({ text, digest: null }));
  await ends(exports(['--format', format]), 1, text, ['nothing proves what was printed', said]);
});

test('a file whose digest a proxy drops is made by a job, which proves it', async () => {
  const job = offerFile(api, Buffer.from(csv), { job: { format: 'csv' } });
  const streamed = sends({ digest: null });
  api.on('POST /exports/csv', (request, response) => {
    if (request.headers.prefer === undefined) return streamed(request, response);
    return json(job, 202)(request, response);
  });
  const said = [/^note: a proxy drops the digest/, 'and manifest equal'];
  await ends(exports(['--out', 'tx.csv']), 0, '', said);
  expect(await readFile(join(folder.path, 'tx.csv'), 'utf8')).toBe(csv);
  expect(await files()).toEqual(['tx.csv']);
});

test('a reader that hangs up ends the export quietly', async () => {
  api.on('POST /exports/csv', sends({ end: () => {} }));
  const onStdout = () => {
    throw Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
  };
  expect(await exports([], { onStdout })).toMatchObject({ code: 0, stderr: '' });
});

test.each([
  ['TX_2001-02.csv', 'TX_2001-02.csv'],
  ['../../etc/passwd', '_.._etc_passwd'],
  ['.bashrc', 'bashrc'],
])('on a terminal the service names the file: %s becomes %s', async (name, file) => {
  api.on('POST /exports/csv', sends({ name }));
  await ends(exports([], { isTerminal: true }), 0, '', []);
  expect(await files()).toEqual([file]);
});

test('a file that exists is replaced only with --force', async () => {
  api.on('POST /exports/csv', sends());
  await writeFile(join(folder.path, 'tx.csv'), 'precious');
  await ends(exports(['--out', 'tx.csv']), 1, ['exists already (file_unreadable)']);
  expect(api.requests).toEqual([]);
  expect(await readFile(join(folder.path, 'tx.csv'), 'utf8')).toBe('precious');
  expect(await exports(['--out', 'tx.csv', '--force'])).toMatchObject({ code: 0 });
  expect(await readFile(join(folder.path, 'tx.csv'), 'utf8')).toBe(csv);
});

test('what is not an ordinary file is never replaced', async () => {
  await ends(exports(['--out', '/dev/null', '--force']), 1, ['not an ordinary file']);
});

test('what a killed export left does not stand in the way', async () => {
  api.on('POST /exports/csv', sends());
  await writeFile(join(folder.path, 'tx.csv.part'), 'half');
  // What a download would go on with.
  await writeFile(join(folder.path, 'tx.csv.part.json'), '{}');
  expect(await exports(['--out', 'tx.csv'])).toMatchObject({ code: 0 });
  expect(await files()).toEqual(['tx.csv']);
});

test('two exports to one file never mix: the first one to be overtaken fails', async () => {
  let release = () => {};
  const overtaken = new Promise<void>((resolve) => {
    release = resolve;
  });
  let calls = 0;
  api.on('POST /exports/csv', (request, response) => {
    calls += 1;
    const waits = { end: (r: ServerResponse) => void overtaken.then(() => r.end()) };
    return sends(calls === 1 ? waits : {})(request, response);
  });
  const first = exports(['--out', 'tx.csv']);
  await expect.poll(files).toEqual(['tx.csv.part']);
  expect(await exports(['--out', 'tx.csv'])).toMatchObject({ code: 0 });
  release();
  expect(await first).toMatchObject({ code: 1 });
  expect(await readFile(join(folder.path, 'tx.csv'), 'utf8')).toBe(csv);
  expect(await files()).toEqual(['tx.csv']);
});

test.each([
  [['--month', '2001-02'], { count: 5 }, 'as many as announced (its leaves hold 5 by now)'],
  [['--from', '2001-01-01', '--to', '2001-02-28'], { count: 1 }, 'as many as its leaves hold'],
  [['--from', '2001-01-02', '--to', '2001-02-28'], { count: 1 }, 'as many as announced ·'],
  [['--month', '2001-02', '--kind', 'k'], { count: 2 }, 'as many as announced ·'],
])('%j with leaves of %j is "%s"', async (days, leaf, said) => {
  api.on('POST /exports/csv', sends());
  api.on('GET /enrichment/datasets', json({ data: [leaf], next_cursor: null }));
  const argv = ['analytics', 'export', '--tenant', 'TX', ...days, '--out', 'tx.csv'];
  expect((await cli(argv)).stderr).toContain(said);
});

test('--preview prints the first line of a template, and which records have none, and exports nothing', async () => {
  const skipped = { rows: 3, fields: { prompt: 2, completion: 1 } };
  const line = '{"messages":[]}';
  api.on('POST /exports/ndjson/preview', json({ line, record: null, looked: 20, skipped }));
  const words = ['--where', 'score > 1', '--format', 'ndjson', '--template', 'openai-chat'];
  const argv = ['analytics', 'export', '--tenant', 'TX', '--month', '2026-03', ...words];
  const { stdout, stderr } = await cli([...argv, '--preview']);
  expect(stdout).toBe(`${line}\n`);
  expect(stderr).toBe('20 records looked at; no value for {{prompt}} in 2, {{completion}} in 1\n');
  expect(JSON.parse(String(api.requests.at(-1)?.body))).toEqual({
    tenant: 'TX',
    month: '2026-03',
    where: 'score > 1',
    template: 'openai-chat',
  });
});

test('--preview prints how a file begins, and exports nothing', async () => {
  api.on('POST /exports/preview', json({ head: 'store\n', lines: ['"A"\n', '"B"\n'] }));
  const words = ['--month', '2026-03', '--columns', 'store', '--where', 'n > 1', '--preview'];
  const { stdout } = await cli(['analytics', 'export', '--tenant', 'TX', ...words]);
  expect(stdout).toBe('store\n"A"\n"B"\n');
  expect(JSON.parse(String(api.requests.at(-1)?.body))).toEqual({
    tenant: 'TX',
    month: '2026-03',
    where: 'n > 1',
    format: 'csv',
    columns: ['store'],
  });
});

test('--json says what was written', async () => {
  api.on('POST /exports/csv', sends());
  const { stdout } = await exports(['--out', 'tx.csv', '--json']);
  expect(JSON.parse(stdout)).toEqual({
    file: join(folder.path, 'tx.csv'),
    rows: 2,
    bytes: csv.length,
    sha256: createHash('sha256').update(csv).digest('hex'),
    elapsed_ms: 0,
  });
});

refusesUsage(api, [
  ['analytics export --tenant T --month 2026-03 --typed', 'for --format parquet'],
  ['analytics export --tenant T --month 2026-03 --template openai-chat', 'for --format ndjson'],
  ['analytics export --tenant T --month 2026-03 --missing skip', 'needs --template'],
  [
    'analytics export --tenant TX --month 2001-02 --format xml',
    'Allowed choices are csv, ndjson, parquet',
  ],
  [
    'analytics export --tenant TX --month 2001-02 --format parquet --compression gzip',
    'parquet is compressed inside',
  ],
  [
    'analytics export --tenant TX --month 2001-02 --format ndjson --style machine',
    'are for --format csv',
  ],
  [
    'analytics export --tenant TX --month 2001-02 --format parquet --no-header',
    'are for --format csv',
  ],
  ['analytics export --tenant TX --month 2001-02 --split train', '--split needs --version'],
  ['analytics export --tenant TX --month 2001-02 --version v1', 'Leave out --month'],
  ['analytics export --tenant TX --quarter 2001-Q1 --version v1', 'Leave out --quarter'],
  ['analytics export --tenant TX --month 2001-02 --no-wait', '--no-wait needs --async'],
  [
    'analytics export --tenant TX --month 2001-02 --async --no-wait --out x',
    'with --no-wait no file is written',
  ],
  ['analytics export --tenant TX --month 2001-02 --async --json', '--json needs --out FILE'],
  [
    'analytics export --tenant TX --month 2001-02 --profile ops',
    'svcctl --profile NAME analytics export',
  ],
  ['analytics export --tenant TX --month 2001-02 --from 2001-01-01', 'give either --month'],
  ['analytics export --tenant TX --month 2001-02 --json', '--json needs --out FILE'],
]);

const ndjson = '{"event_id":"a\\n"}\n{"event_id":"b"}\n';

test.each([
  ['ndjson', [], ndjson, 'tx.ndjson'],
  ['ndjson', ['--compression', 'gzip'], gzipSync(ndjson), 'tx.ndjson.gz'],
  // Members one after the other, as parts are.
  ['csv', ['--compression', 'gzip'], Buffer.concat(halves(csv).map((half) => gzipSync(half))), 'x'],
  // Whose rows the trailer alone proves.
  ['ndjson', ['--compression', 'zstd'], Buffer.from('zstd'), 'tx.ndjson.zst'],
  ['parquet', [], Buffer.from('PAR1'), 'tx.parquet'],
])('%s %j is kept byte by byte', async (format, argv, bytes, name) => {
  api.on(`POST /exports/${format}`, sends({ text: bytes, name }));
  await ends(exports(['--format', format, ...argv], { isTerminal: true }), 0, [
    `${name}: 2 rows, as many as its leaves hold`,
  ]);
  expect(await readFile(join(folder.path, name))).toEqual(Buffer.from(bytes));
  expect(JSON.parse(String(api.requests[0]?.body))).toEqual({
    tenant: 'TX',
    month: '2001-02',
    ...(argv.length === 0 ? {} : { compression: argv[1] }),
  });
});

test.each([
  ['ndjson', [], ndjson.slice(0, -1), '1 row came, 2 were announced'],
  ['ndjson', ['--compression', 'gzip'], gzipSync(`${ndjson}{}\n`), '3 rows came, 2 were'],
  ['ndjson', ['--compression', 'gzip'], gzipSync(ndjson).subarray(0, -9), 'it ended after'],
  ['csv', ['--compression', 'gzip'], Buffer.from('not gzip'), 'it ended after 0 of 2 rows'],
])(
  '%s %j that is not whole is not kept, though its digest fits',
  async (format, argv, bytes, said) => {
    api.on(`POST /exports/${format}`, sends({ text: bytes }));
    await ends(exports(['--format', format, ...argv, '--out', 'x']), 1, [said]);
    expect(await files()).toEqual([]);
  },
);

test('Parquet whose digest is another is not kept', async () => {
  api.on('POST /exports/parquet', sends({ text: 'PAR1', digest: digestOf('PAR2') }));
  expect((await exports(['--format', 'parquet', '--out', 'x'])).code).toBe(1);
  expect(await files()).toEqual([]);
});

test('a version is found by its name; its split is compared with what was frozen', async () => {
  const splits = { train: { count: 2 }, validation: { count: 0 }, test: { count: 0 } };
  const version = { id: 'ver_1', name: 'q1', count: 5, current: null, splits };
  api.on('GET /enrichment/dataset-versions', pages([JSON.stringify(version)]));
  api.on('POST /exports/parquet', sends({ text: 'PAR1' }));
  const words = 'analytics export --tenant TX --format parquet --out x --force'.split(' ');
  const unknown = await cli([...words, '--version', 'q2']);
  expect(unknown.code).toBe(3);
  const split = await cli([...words, '--version', 'q1', '--split', 'train']);
  expect(split.stderr).toContain('2 rows, as many as the version holds');
  const bodies = api.requests.filter(({ method }) => method === 'POST');
  expect(bodies.map(({ body }) => JSON.parse(String(body)))).toEqual([
    { tenant: 'TX', version: 'ver_1', split: 'train' },
  ]);
  const whole = await cli([...words, '--version', 'q1']);
  expect(whole.stderr).toContain('2 rows, as many as announced');
});

test('an export without days is a usage error: it must not widen to everything', async () => {
  await ends(cli('analytics export --tenant TX'), 2, ['say which days']);
});
