import { execFileSync, spawnSync } from 'node:child_process';
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { ends, useFolder } from '../testing/run.ts';
import { useServiceCli } from '../testing/service-cli.ts';

// A bundle is read by what those who train use: PyPI's datasets, pandas and duckdb, in the Python that SVC_TEST_PYTHON
// names or the one on the PATH. Where they are not there, a test says so, and passes.

const folder = useFolder('once');
const { service, cli, ok, jsonOf, store } = useServiceCli({}, folder);

/** Nested, with a name that YAML would take for a truth value, numbers beyond a double, and every tenth a misfit. */
const enrichmentOf = (n: number) => ({
  score: n / 8,
  label: n % 10 === 0 ? n : `l${n}`,
  yes: n % 2 === 0,
  model: 'm',
  'a "b": #c': `é${n}`,
  origin: { iata: 'DFW', 'no.': [n] },
  legs: [{ km: n + 0.5 }, { km: null }].slice(0, n % 2 === 0 ? 1 : 2),
  grid: [[n], []],
});
const total = 60;

beforeAll(async () => {
  await store(
    Array.from({ length: total }, (_, n) => ({
      tenant: 'T',
      store: n % 2 === 0 ? 'A' : 'B',
      event_id: `e-${n}`,
      confidence: 0.5,
      occurred_at: `2001-03-0${(n % 7) + 1}T00:00:00Z`,
      enrichment: enrichmentOf(n),
    })),
  );
  const big = '{"tenant":"T","store":"A","event_id":"big","occurred_at":"2001-03-01T00:00:00Z",';
  await service.call('POST', '/enrichment/records', {
    body: `${big}"enrichment":{"id":9007199254740993,"sum":12345678901234567890.125}}\n`,
    headers: { 'content-type': 'application/x-ndjson' },
  });
  await ok('records tags add --tenant T --month 2001-03 --dataset training');
  await ok(
    'records versions create --tenant T --dataset training --name v1 --split 60/20/20 --note n',
  );
  await ok('records versions create --tenant T --dataset training --name whole');
});

const path = (name: string) => join(folder.path, name);
const read = (name: string) => readFile(path(name), 'utf8');
const make = 'records versions bundle v1 --tenant T --dir b';

const python = ['python3', process.env.SVC_TEST_PYTHON ?? 'python3'].at(-1) ?? '';
const modules = 'datasets, pandas, duckdb';
const hasPython = spawnSync(python, ['-c', `import ${modules}`]).status === 0;

/** Runs a program that prints JSON. Nothing of it leaves the machine. */
function runPython(code: string): unknown {
  const env = { ...process.env, HF_HUB_OFFLINE: '1', HF_HOME: path('hf'), HOME: folder.path };
  const text = execFileSync(python, ['-c', `import json, ${modules}\n${code}`], {
    cwd: folder.path,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return JSON.parse(text);
}

test('makes a folder of all splits, with checksums of all of it', async () => {
  await ends(cli(make), 0, '', [/b: 61 rows · .* and manifest equal/]);
  expect((await readdir(path('b'))).sort()).toEqual(
    ['README.md', 'SHA256SUMS', 'data', 'manifests', 'statistics.json'].sort(),
  );
  expect((await read('b/SHA256SUMS')).trim().split('\n')).toHaveLength(8);
  execFileSync('sha256sum', ['--quiet', '-c', 'SHA256SUMS'], { cwd: path('b') });
  const statistics = JSON.parse(await read('b/statistics.json'));
  const rows = Object.values<{ rows: number }>(statistics).map((split) => split.rows);
  expect(rows.reduce((sum, count) => sum + count, 0)).toBe(total + 1);
  const score = statistics.train.columns.find(
    ({ column }: { column: string }) => column === 'score',
  );
  expect(score).toMatchObject({ type: 'DOUBLE', min: expect.any(String), q50: expect.any(String) });
  const verify = 'exports verify --file b/data/test-00000-of-00001.parquet --manifest';
  expect((await cli(`${verify} b/manifests/test.json`)).code).toBe(0);
  const [{ id }] = await jsonOf('exports ls --json id');
  await ends(cli(`exports verify ${id}`), 1, ['unpack it']);
});

test('a version without shares is one split, also where another had more', async () => {
  await cp(path('b'), path('whole'), { recursive: true });
  await rm(path('whole/SHA256SUMS'));
  await ends(cli('records versions bundle whole --tenant T --dir whole'), 1, ['validation']);
  await ok('records versions bundle whole --tenant T --dir whole --force');
  expect(await readdir(path('whole/data'))).toEqual(['train-00000-of-00001.parquet']);
  expect(await readdir(path('whole/manifests'))).toEqual(['train.json']);
  expect(await read('whole/README.md')).toContain('num_examples: 61\n');
});

test('a folder that somebody else has filled is left as it is', async () => {
  await mkdir(path('foreign'));
  await writeFile(path('foreign/README.md'), 'theirs');
  await ends(cli('records versions bundle v1 --tenant T --dir foreign'), 1, ['README.md']);
  expect(await readdir(path('foreign'))).toEqual(['README.md']);
});

test('the card of a version with groups and a where tells both, and what was counted', async () => {
  const made =
    'records versions create --tenant T --dataset training --name some --where bytes>0 --split 50/25/25 --group-by store';
  await ok(made);
  await ok('records versions bundle some --tenant T --dir some');
  const card = await read('some/README.md');
  expect(card).toContain('\nIt has the records that fit bytes\\>0.\n');
  expect(card).toContain('\nRecords with the same store are in one split.\n');
  expect(card).toMatch(/Its digest is `[0-9a-f]{16}`/);
});

test('leaves a bundle that is there as it is, and replaces it on demand', async () => {
  await ends(cli(make), 1, ['SHA256SUMS']);
  const before = await read('b/SHA256SUMS');
  await ok(`${make} --force`);
  expect(await read('b/SHA256SUMS')).toBe(before);
});

test('takes the job that an earlier run has left, and replaces what is damaged', async () => {
  const jobs = async () => (await jsonOf('exports ls --json id')).length;
  const before = await jobs();
  const sums = await read('b/SHA256SUMS');
  await rm(path('b/SHA256SUMS'));
  await rm(path('b/data/train-00000-of-00001.parquet'));
  const name = path('b/data/test-00000-of-00001.parquet');
  const bytes = await readFile(name);
  bytes[4] = 255 - (bytes[4] ?? 0);
  await writeFile(name, bytes);
  await ok(make);
  expect(await jobs()).toBe(before);
  expect(await read('b/SHA256SUMS')).toBe(sums);
  execFileSync('sha256sum', ['--quiet', '-c', 'SHA256SUMS'], { cwd: path('b') });
});

test('has what an erasure has left of the version', async () => {
  await store(
    ['gone', 'left'].map((event_id) => ({
      tenant: 'E',
      store: 'A',
      event_id,
      enrichment: { of: event_id },
      occurred_at: '2001-03-01T00:00:00Z',
    })),
  );
  await ok('records tags add --tenant E --month 2001-03 --dataset training');
  await ok('records versions create --tenant E --dataset training --name v --split 100/0/0');
  await ends(cli('records versions bundle v --tenant E --dir e'), 0, '', ['e: 2 rows']);
  await ok('records erase --tenant E --event-id gone --yes');
  await ends(cli('records versions bundle v --tenant E --dir e --force'), 0, '', ['e: 1 row ']);
});

if (!hasPython) {
  test(`${python} has not all of ${modules}: no other program reads the bundle`, () => {
    expect(hasPython).toBe(false);
  });
} else {
  test('datasets loads the folder as it is', () => {
    const loaded = runPython(`
all = datasets.load_dataset("b")
print(json.dumps({
  "rows": {name: split.num_rows for name, split in all.items()},
  "features": {name: str(feature) for name, feature in all["train"].features.items()},
  "records": [row for split in all.values() for row in split.select_columns(
    ["event_id", "confidence", "score", "label", "yes", "enrichment.model", 'a "b": #c', "origin", "legs", "grid", "id", "_rest"])],
}))`) as { rows: Record<string, number>; features: object; records: Record<string, unknown>[] };
    expect(Object.keys(loaded.rows).sort()).toEqual(['test', 'train', 'validation']);
    expect(loaded.features).toMatchObject({
      occurred_at: "Value('timestamp[us, tz=UTC]')",
      score: "Value('float64')",
      id: "Value('int64')",
      sum: "Value('decimal128(38, 3)')",
      legs: "List({'km': Value('float64')})",
    });
    expect(loaded.records).toHaveLength(total + 1);
    const bigOne = loaded.records.find(({ event_id }) => event_id === 'big');
    expect(String(bigOne?.id)).toBe('9007199254740992');
    for (const row of loaded.records) {
      if (row.event_id === 'big') continue;
      const n = Number(String(row.event_id).slice(2));
      const sent = enrichmentOf(n);
      const isMisfit = n % 10 === 0;
      expect(row).toMatchObject({
        confidence: 0.5,
        score: sent.score,
        yes: sent.yes,
        'enrichment.model': 'm',
        'a "b": #c': sent['a "b": #c'],
        origin: sent.origin,
        grid: sent.grid,
        label: isMisfit ? null : sent.label,
        // An element with a null in it does not fit, so the whole list is in the rest.
        legs: n % 2 === 0 ? sent.legs : null,
      });
    }
  }, 120_000);

  test('pandas and DuckDB read its files', () => {
    const told = runPython(`
frame = pandas.read_parquet("b/data")
count = duckdb.sql("select count(*), sum(score), max(id)::varchar from 'b/data/*.parquet'").fetchall()[0]
print(json.dumps({"pandas": [len(frame), frame.score.sum()], "duckdb": [count[0], count[1]], "id": count[2]}))`);
    const sum = Array.from({ length: total }, (_, n) => n / 8).reduce((all, one) => all + one, 0);
    const both = [total + 1, sum];
    expect(told).toEqual({ pandas: both, duckdb: both, id: '9007199254740993' });
  }, 120_000);
}

test.runIf(process.platform === 'linux')('a folder that nobody can make is told', async () => {
  const command = 'records versions bundle v1 --tenant T --dir /proc/svcctl/b';
  await ends(cli(command), 1, ['file_unreadable', 'ENOENT']);
});
