import { expect, test } from 'vitest';
import type { DatasetRow } from '../../contract.ts';
import { prepareCli, refusesUsage } from '../testing/prepare-cli.ts';
import { json, pages, problem } from '../testing/receiver.ts';
import { nowMillis } from '../testing/run.ts';

const { api, cli, jsonOf } = prepareCli();

const leaf = (store: string, count: number, covered: number): string =>
  JSON.stringify({
    tenant: 'TX',
    store,
    month: '2001-01',
    count,
    bytes: count * 480,
    coverage: covered / count,
    covered,
    by_dataset: { training: covered, fine_tuning: 0 },
    tier: 'hot',
    stored_bytes: 1,
    digest: '0123456789abcdef',
    first_at: null,
    last_at: null,
  } satisfies DatasetRow);
const record = (id: string) =>
  `{"tenant":"TX","store":"DFW","event_id":"${id}","occurred_at":"2001-01-05T00:00:00.000000Z","recorded_at":"2026-03-05T00:00:00.000000Z","kind":null,"source":"LAX","model":null,"confidence":0.10,"bytes":160,"enrichment":{"big":12345678901234567890,"e":1.0e5}}`;

test('records ls walks all pages and is a table with totals on a terminal', async () => {
  api.on('GET /enrichment/datasets', pages([leaf('AUS', 4310, 0)], [leaf('DFW', 41_022, 15_600)]));
  const { stdout, stderr } = await cli('records ls --tenant TX', { isTerminal: true });
  expect(stdout).toBe(
    'TENANT  STORE  MONTH    RECORDS   BYTES  COVERAGE  TIER\n' +
      'TX      AUS    2001-01    4,310  2.1 MB       0 %  hot\n' +
      'TX      DFW    2001-01   41,022  19.7 MB      38 %  hot\n',
  );
  expect(stderr).toBe('2 leaves · 45,332 records · 21.8 MB · 34 % covered\n');
  expect(api.requests.map(({ query }) => query)).toEqual([
    { tenant: 'TX', limit: '200' },
    { tenant: 'TX', limit: '199', cursor: 'c1' },
  ]);
});

test('records ls has 200 rows on a terminal and says that there are more, and all in a pipe', async () => {
  const many = Array.from({ length: 200 }, (_, n) => leaf(`S${n}`, 1, 1));
  api.on('GET /enrichment/datasets', pages(many, [leaf('T', 1, 1)]));
  const shown = await cli('records ls', { isTerminal: true });
  expect(shown.stdout.trimEnd().split('\n')).toHaveLength(1 + 200);
  expect(shown.stderr).toBe(
    'the first 200 leaves · 200 records · 96.0 kB · 100 % covered · more: --all\n',
  );
  const lines = async (line: string, isTerminal: boolean) =>
    (await cli(line, { isTerminal })).stdout.trimEnd().split('\n').length;
  expect([await lines('records ls --all', true), await lines('records ls', false)]).toEqual([
    1 + 201,
    201,
  ]);
});

test('records ls is tab-separated without a header in a pipe', async () => {
  api.on('GET /enrichment/datasets', pages([leaf('AUS', 4310, 0), leaf('D\tW', 10, 5)]));
  const { stdout, stderr } = await cli('records ls');
  expect(stdout).toBe(
    'TX\tAUS\t2001-01\t4310\t2068800\t0\thot\nTX\tD W\t2001-01\t10\t4800\t0.5\thot\n',
  );
  expect(stderr).toBe('');
});

test('records ls --json is one array of exactly what the API sent, over all pages', async () => {
  const rows = [leaf('AUS', 4310, 0), leaf('DFW', 41_022, 1), leaf('IAH', 7, 7)];
  api.on('GET /enrichment/datasets', pages(rows.slice(0, 2), [], rows.slice(2)));
  expect(await jsonOf('records ls --json')).toEqual(rows.map((row) => JSON.parse(row)));
  // Nothing is summed up for programs, and so no row is parsed: this one could not be.
  api.on('GET /enrichment/datasets', pages(['{"store":"AUS","count":01}']));
  expect((await cli('records ls --json')).stdout).toBe('[\n{"store":"AUS","count":01}\n]\n');
  api.on('GET /enrichment/datasets', pages(rows));
  const picked = await cli('records ls --json store,count');
  expect(JSON.parse(picked.stdout)[1]).toEqual({ store: 'DFW', count: 41_022 });
});

test('a walk under way waits when the service is busy, the first page does not', async () => {
  let calls = 0;
  const rows = pages([leaf('AUS', 1, 0)], [leaf('DFW', 1, 0)]);
  const busy = problem(429, 'rate_limited', 'Too many.', { headers: { 'retry-after': '7' } });
  api.on('GET /enrichment/datasets', (request, response) => {
    calls += 1;
    return (calls === 2 ? busy : rows)(request, response);
  });
  const { code, stdout, sleepsMillis } = await cli('records ls');
  expect({ code, sleepsMillis }).toEqual({ code: 0, sleepsMillis: [7000] });
  expect(stdout.split('\n')).toHaveLength(3);
  api.on('GET /enrichment/datasets', busy);
  expect(await cli('records ls')).toMatchObject({ code: 5, sleepsMillis: [] });
});

test('a walk that breaks off leaves JSON that is not whole, and an exit code', async () => {
  const rows = pages([leaf('AUS', 1, 0)], []);
  api.on('GET /enrichment/datasets', (request, response) =>
    (request.query.cursor ? problem(500, 'internal_error', 'Oh.') : rows)(request, response),
  );
  const { code, stdout } = await cli('records ls --json');
  expect(code).toBe(1);
  expect(() => JSON.parse(stdout)).toThrow();
});

test('a list that turns in a circle ends', async () => {
  api.on('GET /enrichment/datasets', json('{"data":[],"next_cursor":"c"}'));
  expect(await cli('records ls')).toMatchObject({ code: 1 });
});

test.each([
  ['--json', (stdout: string) => stdout.split('\n')[1]],
  ['--ndjson', (stdout: string) => stdout.trimEnd()],
])('records show %s prints records to the letter', async (flag, cut) => {
  api.on('GET /enrichment/records', pages([record('a')]));
  const { stdout } = await cli(['records', 'show', '--tenant', 'TX', flag]);
  expect(cut(stdout)).toBe(record('a'));
});

test('records show prints one record to the letter, indented on a terminal', async () => {
  api.on('GET /enrichment/records/one', json(record('a')));
  const argv = 'records show --tenant TX --store DFW --at 2001-01-05T00:00:00Z --event a'.split(
    ' ',
  );
  expect((await cli(argv)).stdout).toBe(`${record('a')}\n`);
  const shown = (await cli(argv, { isTerminal: true })).stdout;
  expect(shown).toContain('  "confidence": 0.10,\n');
  expect(shown).toContain('    "big": 12345678901234567890,\n');
  expect(api.requests[0]?.query).toEqual({
    tenant: 'TX',
    store: 'DFW',
    occurred_at: '2001-01-05T00:00:00Z',
    event_id: 'a',
  });
});

test('records find looks for an event wherever it is, over pages that hold nothing', async () => {
  api.on('GET /enrichment/records', pages([], [record('a')]));
  const { stdout } = await cli('records find a');
  expect(stdout).toMatch(/^TX\t.*\tDFW\ta\t/);
  expect(api.requests[0]?.query).toMatchObject({ event_id: 'a' });
  api.on('GET /enrichment/records', pages([]));
  const none = await cli('records find a --tenant TX', { isTerminal: true });
  expect(none).toMatchObject({ code: 0, stdout: '' });
  expect(none.stderr).toBe('No record has this event id, as far as this token reaches.\n');
  expect(api.requests.at(-1)?.query).toMatchObject({ event_id: 'a', tenant: 'TX' });
});

test('records show --where goes on over pages that are not full, and says how far it is', async () => {
  const searched_to = { tenant: 'TX', store: 'DFW', occurred_at: '2001-01-05T00:00:00.000000Z' };
  const short = { data: [], next_cursor: 'c1', prev_cursor: null, searched_to };
  const last = pages([], [record('a')]);
  api.on('GET /enrichment/records', (request, response) =>
    (request.query.cursor === undefined ? json(short) : last)(request, response),
  );
  let now = nowMillis;
  const where = `score >= 0.9 and model = "it's"`;
  const words = ['records', 'show', '--tenant', 'TX', '--where', where, '--limit', '1'];
  const { stdout, stderr } = await cli(words, { isTerminal: true, now: () => (now += 200) });
  expect(stdout).toContain('a');
  expect(stderr).toContain('searched to  TX DFW 2001-01-05T00:00:00.000000Z   0 found');
  expect(api.requests.map(({ query }) => query.where)).toEqual([where, where]);
});

test('records show stops at 20 rows on a terminal and says how to go on', async () => {
  const many = Array.from({ length: 20 }, (_, i) => record(`e${i}`));
  api.on('GET /enrichment/records', pages(many, [record('last')]));
  const words = ['records', 'show', '--tenant', "T X's", '--order', 'desc'];
  const { stdout, stderr } = await cli(words, { isTerminal: true });
  expect(stdout.split('\n')).toHaveLength(22);
  expect(stderr).toBe(
    "20 records · all: --all · next: svcctl records show --tenant 'T X'\\''s' --order desc --cursor c1\n",
  );
  const all = await cli([...words, '--all'], { isTerminal: true });
  expect(all.stdout).toContain('last');
});

test('records show prints all rows in a pipe, and --limit over several pages', async () => {
  const page = Array.from({ length: 500 }, (_, i) => record(`e${i}`));
  api.on('GET /enrichment/records', pages(page, page, [record('last')]));
  const all = await cli('records show --tenant TX');
  expect(all.stdout.split('\n')).toHaveLength(1002);
  api.requests.length = 0;
  await cli('records show --tenant TX --limit 700');
  expect(api.requests.map(({ query }) => query.limit)).toEqual(['500', '200']);
});

refusesUsage(api, [
  [
    'records show --tenant TX --month 2026-03 --from 2026-03-01 --to 2026-03-02',
    'either --month or',
  ],
  ['records show --tenant TX --event a', 'one record is named by'],
  ['records show --tenant TX --limit 0', 'not a whole number from 1 on'],
  ['records show --tenant TX --limit 2 --all', 'cannot be used with'],
]);
