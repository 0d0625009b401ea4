import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { prepareCli } from '../testing/prepare-cli.ts';
import { json, problem, startReceiver } from '../testing/receiver.ts';
import { ends, run, useFolder } from '../testing/run.ts';

const folder = useFolder();
const { api, cli } = prepareCli(folder);

const answer = (rejected: object[] = [], rejectedCount = rejected.length) =>
  json({ accepted: 3, duplicates: 1, rejected, rejected_count: rejectedCount });
const ingest = (argv: string[], stdin: string | Readable = '') =>
  cli(['records', 'ingest', ...argv], { stdin });

test.each([
  ['r.ndjson', 'application/x-ndjson', undefined],
  ['r.json', 'application/json', undefined],
  ['r.ndjson.gz', 'application/x-ndjson', 'gzip'],
  ['r.json.gz', 'application/json', 'gzip'],
])('%s is sent to the byte as %s', async (name, type, encoding) => {
  api.on('POST /enrichment/records', answer());
  const text = '{"a":1}\n'.repeat(100_000);
  const bytes = name.endsWith('.gz') ? gzipSync(text) : Buffer.from(text);
  await writeFile(join(folder.path, name), bytes);
  const { code, stdout, stderr } = await ingest([name]);
  expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: '3\t1\t0\n', stderr: '' });
  const [request] = api.requests;
  expect(request?.body.equals(bytes)).toBe(true);
  expect(request?.headers['content-type']).toBe(type);
  expect(request?.headers['content-encoding']).toBe(encoding);
});

test('stdin is sent as NDJSON, piece by piece', async () => {
  api.on('POST /enrichment/records', answer());
  const pieces = Readable.from([Buffer.from('{"a"'), Buffer.from(''), Buffer.from(':1}\n')]);
  const { code } = await ingest(['-', '--json'], pieces);
  expect(code).toBe(0);
  expect(api.requests[0]?.body.toString()).toBe('{"a":1}\n');
  expect(api.requests[0]?.headers['transfer-encoding']).toBe('chunked');
});

test('rejected records are listed by line on stderr, and the exit code is 7', async () => {
  const rejected = [{ index: 4, code: 'field_unknown', message: '"x\u001b[31m" is not a field' }];
  api.on('POST /enrichment/records', answer(rejected, 2500));
  const { stderr } = await ends(ingest(['-'], '{}'), 7, '3\t1\t2500\n', []);
  expect(stderr).toBe(
    'LINE  CODE           MESSAGE\n' +
      '   5  field_unknown  "x [31m" is not a field\n' +
      '… and 2,499 more\n' +
      'error: 2,500 of 2,504 records rejected (records_rejected)\n' +
      '  The others are stored; mend these and send the file again.\n',
  );
});

test('a message is not cut at a terminal, however narrow: its end says what to do', async () => {
  const message = `${'expected a value '.repeat(10)}; a record stands on one line`;
  api.on('POST /enrichment/records', answer([{ index: 0, code: 'json_invalid', message }]));
  const { stderr } = await cli('records ingest -', { stdin: '{', isTerminal: true, columns: 60 });
  expect(stderr).toContain(`   1  json_invalid  ${message}\n`);
});

test('rejected records of a batch are listed by their index', async () => {
  api.on(
    'POST /enrichment/records',
    answer([{ index: 0, code: 'conflict', message: 'Other content.' }]),
  );
  await writeFile(join(folder.path, 'b.json'), '{"records":[]}');
  await ends(ingest(['b.json']), 7, '3\t1\t1\n', [
    'INDEX  CODE      MESSAGE\n    0  conflict  Other content.\n',
  ]);
});

test('of a stream that broke off it prints what is stored, and how to go on', async () => {
  const rejected = [{ index: 4, code: 'json_invalid', message: 'no JSON' }];
  const counts = { accepted: 20_000, duplicates: 3, rejected, rejected_count: 1 };
  const places = { lines_read: 20_100, next_line: 20_004, next_byte: 2_000_400 };
  const members = { ...counts, ...places };
  api.on('POST /enrichment/records', (_request, response) => {
    response.writeHead(400, { 'content-type': 'application/problem+json' });
    const code = 'body_encoding_invalid';
    response.end(JSON.stringify({ code, detail: 'The gzip ends too early.', ...members }));
  });
  await writeFile(join(folder.path, 'it is.ndjson'), '{}\n');
  await ends(ingest(['it is.ndjson']), 2, '20000\t3\t1\n', [
    '   5  json_invalid  no JSON',
    'What comes before line 20005 is stored or rejected',
    "tail -n +20005 'it is.ndjson' | svcctl records ingest -",
  ]);
  const stdin = await ingest(['-', '--json'], '{}');
  expect(JSON.parse(stdin.stdout)).toEqual(members);
  expect(stdin.stderr).not.toContain('tail -n');
});

test('a file is sent again from the start when the service is busy, after the wait it asks for', async () => {
  let calls = 0;
  api.on('POST /enrichment/records', (request, response) => {
    calls += 1;
    const busy = problem(calls === 1 ? 429 : 503, 'ingest_busy', 'Busy.', {
      headers: { 'retry-after': '3' },
    });
    return (calls < 3 ? busy : answer())(request, response);
  });
  await writeFile(join(folder.path, 'r.ndjson'), '{"a":1}\n');
  const { code, sleepsMillis, stderr } = await ingest(['r.ndjson']);
  expect({ code, sleepsMillis }).toEqual({ code: 0, sleepsMillis: [3000, 3000] });
  expect(stderr).toContain('The service cannot take it now (ingest_busy); trying again in 3 s …');
  expect(api.requests.map(({ body }) => body.toString())).toEqual(Array(3).fill('{"a":1}\n'));
});

test('a file is tried ten times, then it is exit 5', async () => {
  api.on('POST /enrichment/records', problem(503, 'database_unavailable', 'Gone.'));
  await writeFile(join(folder.path, 'r.ndjson'), '{"a":1}\n');
  const { code } = await ingest(['r.ndjson']);
  expect(code).toBe(5);
  expect(api.requests).toHaveLength(10);
});

test('stdin is sent once: a busy service is exit 5, with a word on why', async () => {
  api.on('POST /enrichment/records', problem(429, 'ingest_busy', 'Busy.'));
  const { code, stderr, sleepsMillis } = await ingest(['-'], '{}');
  expect({ code, sleepsMillis }).toEqual({ code: 5, sleepsMillis: [] });
  expect(stderr).toContain('stdin cannot be. Send it again: what is stored already does no harm.');
});

test('an answer that comes before the end of the upload is heard', async () => {
  const early = await startReceiver(({ socket }, response) => {
    problem(
      403,
      'scope_missing',
      'This token lacks the scope enrichment:write.',
    )(undefined, response);
    socket.resume();
  });
  const endless = Readable.from(
    (function* () {
      for (let i = 0; i < 10_000; i++) yield Buffer.alloc(65_536, 97);
    })(),
  );
  const { code } = await run(['records', 'ingest', '-'], { env: early.env, stdin: endless });
  expect(code).toBe(4);
  expect(endless.readableEnded).toBe(false);
  await early.close();
});

test('a connection cut on the way is exit 5', async () => {
  const cut = await startReceiver((request) => {
    request.once('data', () => request.socket.destroy());
  });
  await ends(run(['records', 'ingest', '-'], { env: cut.env, stdin: '{}' }), 5, [
    'the connection was cut (service_unreachable)',
    'Sending the same again does no harm',
  ]);
  await cut.close();
});

test('a file is not called unreadable when the service refuses it early, and is then gone', async () => {
  let calls = 0;
  const cut = await startReceiver((request, response) => {
    calls += 1;
    if (calls === 1) problem(503, 'database_full', 'Full.')(undefined, response);
    else request.socket.destroy();
  });
  await writeFile(join(folder.path, 'large.ndjson'), Buffer.alloc(20_000_000, 97));
  const file = join(folder.path, 'large.ndjson');
  await ends(run(['records', 'ingest', file], { env: cut.env }), 5, ['(service_unreachable)']);
  await cut.close();
});

test.each([
  ['none.ndjson', 'there is no such file'],
  ['.', 'it is a folder'],
])('%s cannot be read: exit 1, nothing is sent', async (file, reason) => {
  await ends(ingest([file]), 1, [`${reason} (file_unreadable)`]);
  expect(api.requests).toEqual([]);
});

test('stdin that breaks is told as such, not as a fault of the service', async () => {
  const broken = new Readable({
    read() {
      this.destroy(new Error('disk on fire'));
    },
  });
  await ends(ingest(['-'], broken), 1, ['stdin cannot be read: disk on fire (file_unreadable)']);
});
