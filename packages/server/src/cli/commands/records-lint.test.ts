import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { prepareCli } from '../testing/prepare-cli.ts';
import { json } from '../testing/receiver.ts';
import { ends, useFolder } from '../testing/run.ts';

const folder = useFolder();
const { api, cli } = prepareCli(folder);
const lint = (argv: string, stdin: string | Readable = '', isTerminal = false) =>
  cli(`records lint ${argv}`, { stdin, isTerminal });
const save = (name: string, content: string | Uint8Array) =>
  writeFile(join(folder.path, name), content);

/** A record as text, because numbers are what this is about. */
const record = (id: string, enrichment = '{}', more = '') =>
  `{"tenant":"TX","store":"S","event_id":"${id}","occurred_at":"2020-01-01T00:00:00Z",${more}"enrichment":${enrichment}}`;
const big = '{"n":12345678901234567890}';
const lines = [
  record('e1', big),
  '',
  record('e2', '{"a.b":[1e400,1e401]}').replace('TX', 'TY'),
  record('e3', '{}', '"kind":7,'),
  record('e1', big),
  'no record',
];
/** The first columns of a line of a pipe. */
const cells = (stdout: string) =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t').slice(0, 4).join(' '));

test('findings go to stdout by line, sums to stderr, and the exit code is 7', async () => {
  const { stdout } = await ends(lint('-', lines.join('\r\n')), 7, /^/, [
    'CODE                  SEVERITY  RECORDS\ninteger_unsafe        warning         2\n',
    'TENANT  ERRORS  WARNINGS\nTX           1         2\nTY           0         2\n–            1         0\n',
    '2 records would be stored · 1 stored before or repeated · 2 would be refused · 4 warnings\n',
    'error: 2 of 5 records would be rejected (records_rejected)\n  Nothing was stored: this was a check.',
  ]);
  expect(cells(stdout)).toEqual([
    '1 warning integer_unsafe /enrichment/n',
    '3 warning key_dotted /enrichment/a.b',
    '3 warning number_beyond_double /enrichment/a.b/0',
    '4 error field_invalid /kind',
    '5 warning integer_unsafe /enrichment/n',
    '6 error json_invalid ',
  ]);
  expect(api.requests).toEqual([]);
});

test('warnings alone end with 0, and nothing wrong prints nothing on stdout', async () => {
  await ends(lint('-', record('e', big)), 0, /^1\twarning\t/);
  await ends(lint('-', record('e')), 0, '', ['1 record would be stored · 0 stored before']);
  await ends(lint('- --json', record('e')), 0, '[]\n');
});

test('people get the first 20 of each code, programs get all of them', async () => {
  const many = Array.from({ length: 30_000 }, (_, n) =>
    n % 10_000 === 7 ? 'x' : record(`e${n}`, '{"n":1e400}'),
  ).join('\n');
  const { stdout } = await ends(lint('-', many), 7, /^/, [
    '… and 29,977 more number_beyond_double',
  ]);
  expect(cells(stdout)).toHaveLength(23);
  const all = await lint('- --ndjson', Readable.from(piecesOf(many)));
  const rows = all.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(rows).toHaveLength(30_000);
  expect(rows.map(({ line }) => line)).toEqual(Array.from({ length: 30_000 }, (_, n) => n + 1));
  expect(rows[7]).toEqual({
    line: 8,
    index: 7,
    severity: 'error',
    code: 'json_invalid',
    path: '',
    tenant: null,
    message: expect.any(String),
  });
  const picked = await lint('- --json line,tenant', many);
  expect(JSON.parse(picked.stdout)[0]).toEqual({ line: 1, tenant: 'TX' });
});

function* piecesOf(text: string) {
  for (let at = 0; at < text.length; at += 9999) yield Buffer.from(text.slice(at, at + 9999));
}

test.each(['r.ndjson', 'r.ndjson.gz', 'r.json', 'r.json.gz'])(
  'reads %s as ingest does',
  async (name) => {
    const isBatch = name.includes('.json');
    const sent = [record('e1'), record('e2', big)];
    const text = isBatch ? `{"records":[${sent.join(', ')}]}` : sent.join('\n');
    await save(name, name.endsWith('.gz') ? gzipSync(text) : text);
    const { stdout } = await ends(lint(name), 0, new RegExp(`^${isBatch ? 1 : 2}\twarning`));
    expect(stdout).toContain('/enrichment/n');
    const { stdout: found } = await lint(`${name} --json line,index`);
    expect(JSON.parse(found)).toEqual([{ line: isBatch ? null : 2, index: 1 }]);
  },
);

test('what ingest refuses as a whole is refused alike', async () => {
  await save('b.json', '[1]');
  await ends(lint('b.json'), 2, ['the body must be a JSON object']);
  await save('cut.ndjson.gz', gzipSync(`${record('e')}\n`.repeat(2000)).subarray(0, -9));
  await ends(lint('cut.ndjson.gz'), 2, ['body_encoding_invalid', 'This was a dry run']);
  await ends(lint('none.ndjson'), 1, ['there is no such file']);
});

test('the limits are those of the settings', async () => {
  const stdin = record('e', `{"a":"${'x'.repeat(1020)}"}`);
  const env = { SVC_ENRICHMENT_MAX_BYTES: '1024' };
  await ends(cli('records lint -', { stdin, env }), 7, /enrichment has 1028 bytes; at most 1024/);
});

test('a terminal is told where else to ask', async () => {
  const { stdout, stderr } = await lint('-', record('e', big), true);
  expect(stdout).toMatch(/^LINE {2}SEVERITY {2}CODE +PATH +MESSAGE\n {3}1 {2}warning/);
  expect(stderr).toContain(
    'What is stored, and what a token may write, was not looked at: --remote.',
  );
});

const answer = {
  accepted: 2,
  duplicates: 1,
  rejected_count: 1500,
  dry_run: true,
  warning_count: 1,
  rejected: [
    { index: 2, code: 'conflict', message: 'other content' },
    { index: 9, code: 'field_unknown', message: 'x' },
  ],
  warnings: [{ index: 4, tenant: 'TX', code: 'key_dotted', path: '/enrichment/a.b', message: 'm' }],
  by_code: [
    { code: 'conflict', severity: 'error', count: 1499 },
    { code: 'field_unknown', severity: 'error', count: 1 },
    { code: 'key_dotted', severity: 'warning', count: 1 },
  ],
  by_tenant: [{ tenant: 'TX', errors: 1500, warnings: 1 }],
};

test.each(['records lint r.ndjson.gz --remote', 'records ingest r.ndjson.gz --dry-run'])(
  '%s has the service check the file, and stores nothing',
  async (words) => {
    api.on('POST /enrichment/records', json(answer));
    const bytes = gzipSync(record('e'));
    await save('r.ndjson.gz', bytes);
    await ends(
      cli(words),
      7,
      '3\terror\tconflict\t\tother content\n5\twarning\tkey_dotted\t/enrichment/a.b\tm\n10\terror\tfield_unknown\t\tx\n',
      [
        '… and 1,498 more conflict\n',
        'TX       1,500         1\n',
        '1,500 of 1,503 records would be rejected',
      ],
    );
    const [request] = api.requests;
    expect(request?.query).toEqual({ dry_run: 'true' });
    expect(request?.body.equals(bytes)).toBe(true);
    expect(request?.headers['content-encoding']).toBe('gzip');
  },
);
