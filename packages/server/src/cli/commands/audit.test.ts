import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { rowOf } from '../testing/answers.ts';
import { prepareCli, refusesUsage } from '../testing/prepare-cli.ts';
import { json, pages } from '../testing/receiver.ts';
import { ends, useFolder } from '../testing/run.ts';

const folder = useFolder();
const { api, cli, jsonOf } = prepareCli(folder);

const entry = rowOf('GET /audit', {
  id: '7',
  at: '2026-03-05T11:59:00.000000Z',
  actor: { kind: 'token', token_id: 'tok_1', name: 'ops' },
  action: 'token.revoke',
  target: 'tok_2',
  request_id: 'req_1',
  address: '127.0.0.1',
  user_agent: 'node',
  before: { name: 'old', scopes: ['admin'] },
  place: 7,
  hash: 'ab'.repeat(32),
});

refusesUsage(api, [
  ['audit ls --from 2026-03-02 --to 2026-03-01', '--from lies after --to'],
  ['audit ls --from monday --to 2026-03-01', 'is neither a time such as'],
  ['audit ls --local', '--local is for tables alone'],
  ['audit ls --local --json', '--local is for tables alone'],
  ['audit ls --local -o csv', '--local is for tables alone'],
  ['audit verify --head 1:ab --against a.ndjson', '--head and --against exclude each other'],
]);

test('audit ls asks with its filters and turns pages up to its limit', async () => {
  api.on('GET /audit', pages([JSON.stringify(entry)], [JSON.stringify(entry)], ['{"id":"1"}']));
  const asked = '--actor tok_1 --action token. --tenant TX --from 2026-03-01 --to 2026-03-31';
  const { code, stdout } = await cli(`audit ls ${asked} --limit 2 --json id,actor`);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual([
    { id: '7', actor: entry.actor },
    { id: '7', actor: entry.actor },
  ]);
  const filters = {
    actor: 'tok_1',
    action: 'token.',
    tenant: 'TX',
    from: '2026-03-01',
    to: '2026-03-31',
  };
  expect(api.requests.map(({ query }) => query)).toEqual([
    { ...filters, limit: '2' },
    { ...filters, cursor: 'c1', limit: '1' },
  ]);
});

test('audit ls is a table on a terminal, tab-separated in a pipe, and JSON as the service wrote it', async () => {
  api.on('GET /audit', pages([JSON.stringify(entry)], []));
  const shown = await cli('audit ls --limit 1', { isTerminal: true });
  expect(shown.stdout).toBe(
    'AT (UTC)             ACTOR  ACTION        TARGET  TENANT  FROM\n' +
      '2026-03-05 11:59:00  ops    token.revoke  tok_2   –       127.0.0.1\n',
  );
  expect(shown.stderr).toContain('1 entry · more: --all');
  const piped = await cli('audit ls');
  expect(piped).toMatchObject({
    stdout: '2026-03-05T11:59:00.000000Z\tops\ttoken.revoke\ttok_2\t\t127.0.0.1\n',
    stderr: '',
  });
  expect(api.requests[1]?.query).toEqual({ limit: '100' });
  expect(await jsonOf('audit ls --json')).toEqual([entry]);
});

test('what could steer a terminal or hide in it is escaped there, also in JSON, and nowhere else', async () => {
  const name = 'ops\u009b31m \u202eexe.pdf\u2028\u200b\u007f\u00ad\u{e0041} 👩‍💻 ✈️ é';
  api.on(
    'GET /audit',
    pages([JSON.stringify({ ...entry, actor: { token_id: 'tok_1', name } })], []),
  );
  const shown = (await cli('audit ls --limit 1 --json actor', { isTerminal: true })).stdout;
  expect(shown).toContain(
    'ops\\u009b31m \\u202eexe.pdf\\u2028\\u200b\\u007f\\u00ad\\udb40\\udc41 👩‍💻 ✈️ é',
  );
  expect(JSON.parse(shown)[0].actor.name).toBe(name);
  expect((await cli('audit ls --limit 1 --json actor')).stdout).toContain(name);
});

test('audit ls says when nothing matches, and prints valid JSON then', async () => {
  api.on('GET /audit', json({ data: [], next_cursor: null }));
  const { stdout, stderr } = await cli('audit ls', { isTerminal: true });
  expect(stdout).toBe('');
  expect(stderr).toContain('No entries match.');
  expect((await cli('audit ls --json')).stdout).toBe('[]\n');
});

test('audit export writes entries as the service wrote them, from place to place', async () => {
  const page = Array.from({ length: 500 }, (_, n) => JSON.stringify({ ...entry, place: n + 8 }));
  const last = JSON.stringify({ ...entry, place: 508 });
  api.on('GET /audit', (request, response) =>
    pages(request.query.after === '7' ? page : [last])(request, response),
  );
  await ends(
    cli('audit export --after 7 --action token. --from 2026-03-05T10:30:00+01:00'),
    0,
    `${[...page, last].join('\n')}\n`,
    [],
  );
  const times = { from: '2026-03-05T09:30:00.000000Z', to: '2999-12-31' };
  expect(api.requests.map(({ query }) => query)).toEqual([
    { ...times, action: 'token.', after: '7', limit: '500' },
    { ...times, action: 'token.', after: '507', limit: '500' },
  ]);
});

test('audit export goes on by cursor where the service tells no places', async () => {
  const hidden = JSON.stringify({ ...entry, id: 'aud_x', place: null, hash: null });
  const page = (rows: string[], cursor: string) =>
    `{"data":[${rows.join()}],"next_cursor":"${cursor}"}`;
  api.on('GET /audit', ({ query }, response) => {
    const isFirst = query.cursor === undefined;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(isFirst ? page(Array(500).fill(hidden), 'c1') : page([hidden], 'c2'));
  });
  await ends(cli('audit export'), 0, `${hidden}\n`.repeat(501), []);
  expect(api.requests.map(({ query }) => query)).toEqual([
    { after: '0', limit: '500' },
    { after: '0', limit: '500', cursor: 'c1' },
  ]);
});

test('audit export --follow waits for a service that is away, says so once, and goes on', async () => {
  const entries = [8, 9].map((place) => JSON.stringify({ ...entry, place }));
  const ending = new AbortController();
  const answers = [[entries[0] ?? ''], null, null, [entries[1] ?? '']];
  api.on('GET /audit', (request, response) => {
    const rows = answers.shift();
    if (rows != null) return pages(rows)(request, response);
    if (rows === undefined) ending.abort();
    response.destroy();
  });
  const { code, stdout, stderr } = await cli('audit export --after 7 --follow', {
    signal: ending.signal,
  });
  expect([code, stdout]).toEqual([130, `${entries.join('\n')}\n`]);
  expect(stderr.match(/goes on when the service is back/g)).toHaveLength(1);
  expect(api.requests.map(({ query }) => query.after)).toEqual(['7', '8', '8', '8', '9']);
});

const head = `18:${'ab'.repeat(32)}`;
const seal = { key_id: '0a1b2c3d', since: 5, place: 17 };
const verdict = {
  ok: true,
  entries: 18,
  head,
  pruned_place: 0,
  seal,
  problem_count: 0,
  problems: [],
};

test('audit verify tells the head, and gives the one of before to the service', async () => {
  api.on('POST /audit/verify', json({ ...verdict, pruned_place: 4 }));
  await ends(
    cli(`audit verify --head ${head}`),
    0,
    `ok: 18 entries, those up to place 4 pruned by age · sealed up to 17 since 5, key 0a1b2c3d · head ${head}\n`,
    [],
  );
  expect(api.requests.map(({ body }) => JSON.parse(String(body)))).toEqual([{ head }]);
});

test('audit verify says that nothing is sealed', async () => {
  api.on('POST /audit/verify', json({ ...verdict, seal: null }));
  await ends(cli('audit verify'), 0, `ok: 18 entries · not sealed · head ${head}\n`, []);
});

test('audit verify names what differs, and fails', async () => {
  const message = 'Entry 7 was removed.';
  const problems = [{ kind: 'removed', place: 7, entry_id: '7', message }];
  const found = { ...verdict, ok: false, problem_count: 1, problems };
  api.on('POST /audit/verify', json(found));
  await ends(cli('audit verify'), 1, `${message}\n`, [
    'the audit log is not as it was written: 1 difference',
  ]);
  expect(await jsonOf('audit verify --json')).toEqual(found);
});

const lineOf = (place: number, byte: string) =>
  `${JSON.stringify({ ...entry, place, hash: byte.repeat(32) })}\n`;

test('audit verify --against gives the newest entry of all files', async () => {
  api.on('POST /audit/verify', json(verdict));
  await writeFile(join(folder.path, 'a.ndjson'), lineOf(17, 'aa') + lineOf(18, 'ab'));
  await writeFile(join(folder.path, 'b.ndjson'), lineOf(9, '99') + lineOf(17, 'aa'));
  await ends(cli('audit verify --against a.ndjson b.ndjson'), 0, /^ok: 18 entries/);
  expect(api.requests.map(({ body }) => JSON.parse(String(body)))).toEqual([{ head }]);
});

test.each([
  ['of two logs', lineOf(7, 'aa') + lineOf(7, 'bb'), 1, 'two entries of place 7'],
  ['without entries', '\n', 1, 'holds no entry'],
  ['of something else', '{"place":"7"}\n', 1, 'a line that is no entry'],
  ['with places that are none', lineOf(-1, 'aa'), 1, 'a line that is no entry'],
  ['with hashes that are none', lineOf(7, 'no'), 1, 'a line that is no entry'],
  ['in which a line never ends', 'x'.repeat(4_200_000), 1, 'a line that is no entry'],
  ['that are compressed', '\u001f\u008b\u0000', 1, 'a line that is no entry'],
  [
    'of two logs far from each other',
    `${Array.from({ length: 600 }, (_, index) => lineOf(index + 1, 'aa')).join('')}${lineOf(3, 'bb')}`,
    1,
    'two entries of place 3',
  ],
])('audit verify --against refuses files %s', async (_what, text, code, message) => {
  await writeFile(join(folder.path, 'a.ndjson'), text);
  await ends(cli('audit verify --against a.ndjson'), code, [message]);
  await ends(cli('audit verify --against none.ndjson'), code, ['cannot be read']);
  expect(api.requests).toEqual([]);
});

test('audit ls --local tells times in the zone of the machine, which the title names', async () => {
  api.on('GET /audit', pages([JSON.stringify(entry)]));
  const env = { ...api.env, TZ: 'Asia/Tokyo' };
  const { stdout } = await cli('audit ls --local -o table', { env });
  expect(stdout).toMatch(/^AT \(Asia\/Tokyo\) +ACTOR/);
  expect(stdout).toContain('\n2026-03-05 20:59:00 +09:00  ops ');
});
