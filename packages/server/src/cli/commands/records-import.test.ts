import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { prepareCli } from '../testing/prepare-cli.ts';
import { json, problem } from '../testing/receiver.ts';
import { ends, useFolder } from '../testing/run.ts';

const folder = useFolder();
const { api, cli } = prepareCli(folder);

beforeEach(() => api.on('GET /me', json({ name: 'N', scopes: ['admin'], tenants: null })));

const rowsOfBatch = 50_000;

async function writeRows(count: number): Promise<void> {
  const lines = Array.from({ length: count }, (_, n) => `{"event_id":"${n}"}\n`);
  await writeFile(join(folder.path, 'a.ndjson'), lines.join(''));
}
const answer = (accepted: number, duplicates = 0, rejected: object[] = []) =>
  json({ accepted, duplicates, rejected, rejected_count: rejected.length });
/** The ids of the first and the last record of each request. */
const sent = () =>
  requestsTo('/enrichment/records').map(({ body }) => {
    const ids = body
      .toString()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).event_id);
    return [ids[0], ids.at(-1)];
  });
const requestsTo = (path: string) => api.requests.filter((request) => request.path === path);

test('a file is sent in bounded requests, and rejected rows are told by their numbers in it', async () => {
  await writeRows(rowsOfBatch + 20_000);
  const rejected = [{ index: 0, code: 'conflict', message: 'Other.' }];
  api.on('POST /enrichment/records', answer(5, 2, rejected));
  const { stdout, stderr } = await ends(cli('records import a.ndjson --json'), 7, /^{/);
  // It ran to its end.
  expect(stderr).not.toContain('are stored before this');
  const requests = sent();
  expect(requests[0]?.[0]).toBe('0');
  expect(requests.at(-1)?.[1]).toBe(String(rowsOfBatch + 19_999));
  // Each begins behind the one before it.
  for (const [index, [first]] of requests.entries()) {
    if (index > 0) expect(Number(first)).toBe(Number(requests[index - 1]?.[1]) + 1);
  }
  expect(requests.length).toBeGreaterThan(1);
  expect(JSON.parse(stdout)).toMatchObject({
    rows: rowsOfBatch + 20_000,
    accepted: 5 * requests.length,
    rejected: requests.map(([first]) => ({ file: 'a.ndjson', row: Number(first) + 1 })),
  });
});

test.each([
  ['{"event_id":"1","kind":"2","score":"0.5"}', 'kind, scroe'],
  // A whole enrichment is sent as it is.
  ['{"event_id":"1","enrichment":{"score":"0.5"}}', 'score, kind, scroe'],
])('what --number names and %s has not beside its fields is told', async (line, names) => {
  await writeFile(join(folder.path, 'a.ndjson'), `${line}\n`);
  api.on('POST /enrichment/records', answer(1));
  const words = 'records import a.ndjson --number score';
  await ends(cli(`${words} --number kind --number scroe`), 0, '1\t1\t1\t0\t0\n', [
    `note: --number ${names}: no line of NDJSON that was read has such a key beside its fields\n`,
  ]);
  const { stderr } = await cli(words);
  expect(stderr.includes('note: --number')).toBe(names.startsWith('score'));
});

test('a request is sent again while the service is busy', async () => {
  await writeRows(10);
  let calls = 0;
  const answered = answer(7, 3);
  api.on('POST /enrichment/records', (request, response) => {
    calls += 1;
    const stored = { accepted: 3, duplicates: 0, rejected: [], rejected_count: 0, next_line: 3 };
    const busy: typeof answered = (_request, response) => {
      response.writeHead(503, { 'content-type': 'application/problem+json', 'retry-after': '3' });
      response.end(JSON.stringify({ code: 'database_unavailable', detail: 'Gone.', ...stored }));
    };
    return (calls < 3 ? busy : answered)(request, response);
  });
  const { sleepsMillis } = await ends(cli('records import a.ndjson'), 0, '1\t10\t7\t3\t0\n', [
    'The service cannot take it now (database_unavailable); trying again in 3 s …',
  ]);
  expect(sleepsMillis).toEqual([3000, 3000]);
  expect(sent()).toEqual([
    ['0', '9'],
    ['0', '9'],
    ['0', '9'],
  ]);
});

test('a folder whose name would be a pattern is itself', async () => {
  for (const name of ['a[1]', 'a1']) {
    await mkdir(join(folder.path, name));
    await writeFile(join(folder.path, name, 'f.ndjson'), `{"event_id":"${name}"}\n`);
  }
  api.on('POST /enrichment/records', answer(1));
  await ends(cli('records import a[1]'), 0, '1\t1\t1\t0\t0\n');
  expect(sent()).toEqual([['a[1]', 'a[1]']]);
});

test('a service that goes away meanwhile is waited for; one that never answered is not', async () => {
  await writeRows(rowsOfBatch + 10_000);
  let calls = 0;
  api.on('POST /enrichment/records', (request, response) => {
    calls += 1;
    if (calls === 2) return void response.destroy();
    return answer(1)(request, response);
  });
  const { sleepsMillis } = await ends(cli('records import a.ndjson'), 0, /^1\t60000\t/, [
    'The service cannot take it now (service_unreachable); trying again in 1 s …',
  ]);
  expect(sleepsMillis).toEqual([1000]);
  api.on('GET /me', (_request, response) => void response.destroy());
  const { sleepsMillis: none } = await ends(cli('records import a.ndjson'), 5, [
    'service_unreachable',
  ]);
  expect(none).toEqual([]);
});

test('it gives up after ten tries, and says what is stored', async () => {
  await writeRows(rowsOfBatch + 10_000);
  let calls = 0;
  api.on('POST /enrichment/records', (request, response) => {
    calls += 1;
    const busy = problem(429, 'ingest_busy', 'Busy.');
    return (calls > 1 ? busy : answer(7))(request, response);
  });
  await ends(cli('records import a.ndjson'), 5, [
    '7 new records are stored before this. Import the files again: that does no harm.',
  ]);
  expect(calls).toBe(11);
});

test('--resume goes on where an earlier run stopped, unless the file is another one', async () => {
  await writeRows(rowsOfBatch + 20_000);
  let calls = 0;
  api.on('POST /enrichment/records', (request, response) => {
    calls += 1;
    const refused = problem(403, 'scope_missing', 'No.');
    return (calls === 2 ? refused : answer(1))(request, response);
  });
  const words = 'records import a.ndjson --resume state';
  await ends(cli(words), 4, ['scope_missing']);
  const [first, second] = sent();
  // A kill may cut the last line.
  await appendFile(join(folder.path, 'state'), '{"file":"');
  api.reset();
  api.on('GET /me', json({ name: 'N', scopes: ['admin'], tenants: null }));
  api.on('POST /enrichment/records', answer(1));
  const rest = rowsOfBatch + 20_000 - Number(second?.[0]);
  await ends(cli(words), 0, `1\t${rest}\t1\t0\t0\n`, [
    /^note: [\d,]+ rows were answered before, as state says\n/,
  ]);
  expect(sent()).toEqual([[second?.[0], String(rowsOfBatch + 19_999)]]);
  expect(Number(second?.[0])).toBe(Number(first?.[1]) + 1);
  await ends(cli(words), 0, '1\t0\t0\t0\t0\n');
  await ends(cli(`${words} --set tenant=T`), 2, ['state is of an import with other options']);
  await ends(cli(`${words} --check`), 2, ["cannot be used with option '--check'"]);
  await writeRows(3);
  await ends(cli(words), 0, '1\t3\t1\t0\t0\n');
});

test.each(['.', 'none/state'])('--resume %s cannot be written: nothing is sent', async (path) => {
  await writeRows(3);
  await ends(cli(`records import a.ndjson --resume ${path}`), 1, ['(file_unreadable)']);
  expect(sent()).toEqual([]);
});
