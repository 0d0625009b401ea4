import { createHash } from 'node:crypto';
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { runs } from '../../../test/runs.ts';
import { etagOf, manifestOf, offerFile, servesFile } from '../testing/export-jobs.ts';
import { prepareCli } from '../testing/prepare-cli.ts';
import { inTurn, problem } from '../testing/receiver.ts';
import { ends, type RunOptions, useFolder } from '../testing/run.ts';

const folder = useFolder();
const { api, cli } = prepareCli(folder);

const content = Buffer.from(Array.from({ length: 60_000 }, (_, i) => (i * 31 + (i >> 8)) % 256));
const get = (words = '', options: RunOptions = {}) =>
  cli(['exports', 'get', 'exp_1', ...words.split(' ').filter(Boolean)], options);
const files = async () => (await readdir(folder.path)).sort();
const sizeOf = async (name: string) =>
  (await stat(join(folder.path, name)).catch(() => ({ size: 0 }))).size;
const ranges = () =>
  api.requests
    .filter(({ path }) => path.endsWith('/file'))
    .map(({ headers }) => [headers.range, headers['if-range']]);

describe('there is no file when', () => {
  test.each([
    [{ state: 'running', percent: 71.9 }, 6, 'exp_1 is running, 71 % (export_unfinished)'],
    [{ state: 'queued', percent: null }, 6, 'svcctl exports get exp_1 --wait'],
    [{ state: 'cancelled' }, 6, 'exp_1 was cancelled'],
    [
      { state: 'erased', has_file: false, error: 'Records of its slice were erased on request.' },
      3,
      'were erased on request',
    ],
    [{ state: 'failed', error: 'disk full', error_code: 'storage_full' }, 1, 'disk full'],
    [
      { has_file: false, expires_at: '2026-03-05T09:00:00.000000Z' },
      3,
      'was removed 3 h ago (export_file_gone)',
    ],
  ] as const)('the job is %j', async (job, exit, message) => {
    offerFile(api, content, { job });
    await ends(get('--out x'), exit, [message]);
    expect(await files()).toEqual([]);
  });

  test('there is no such job', async () => {
    api.on('GET /exports/exp_1', problem(404, 'export_not_found', 'There is no such export.'));
    expect(await get('--out x')).toMatchObject({ code: 3, stdout: '' });
  });

  test('the name is taken, and --force is not given', async () => {
    await writeFile(join(folder.path, 'x'), 'precious');
    offerFile(api, content);
    await ends(get('--out x --wait'), 1, ['exists already']);
    expect(api.requests).toEqual([]);
    expect((await get('--out x --force')).code).toBe(0);
    expect(await readFile(join(folder.path, 'x'))).toEqual(content);
  });

  test.each([
    ['--json', '--json needs --out FILE'],
    ['--manifest -', '--manifest needs the name'],
    ['--out x --manifest ./x --force', 'each file needs a name of its own'],
  ])('%s is a usage error', async (words, message) => {
    await ends(get(words), 2, [message]);
  });

  test.each([
    [{ sha256: 'f'.repeat(64) }, {}, 'its sha-256 is'],
    [{ bytes: 59_999 }, {}, '59999 were announced'],
    [{}, { rows: 1 }, 'rows 1, and 512991'],
    [{}, { digest: '0000000000000000' }, 'digest 0000000000000000, and 9f3c00000000abe1'],
    [{}, { parts: [] }, 'rows of its parts 0, and 512991'],
  ])('the job says %j and the manifest %j', async (job, manifest, message) => {
    offerFile(api, content, { job, manifest });
    await ends(get('--out x'), 1, [message, '(export_mismatch)']);
    expect(await files()).toEqual([]);
  });

  test('the file is refused', async () => {
    offerFile(api, content, { file: problem(410, 'export_file_gone', 'The file was removed.') });
    expect((await get('--out x')).code).toBe(3);
    expect(await files()).toEqual([]);
  });

  test('connections break before they bring anything, ten times in a row', async () => {
    offerFile(api, content, { file: servesFile(content, { breakAfter: () => 0 }) });
    const { code, stderr, sleepsMillis } = await get('--out x');
    expect(code).toBe(5);
    expect(stderr).toContain('broke off again and again');
    expect(sleepsMillis).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
    expect(await files()).toEqual([]);
  });
});

test('a whole file stands under the name the service gave it', async () => {
  offerFile(api, content);
  await ends(get('', { isTerminal: true }), 0, '', [
    /✓ TX_2001-02\.parquet: 512,991 rows · 60\.0 kB · sha-256 [0-9a-f]{4}…[0-9a-f]{2} and manifest equal · 0\.0 s\n$/,
  ]);
  expect(await readFile(join(folder.path, 'TX_2001-02.parquet'))).toEqual(content);
  expect(await files()).toEqual(['TX_2001-02.parquet']);
});

test('a name that leads elsewhere does not', async () => {
  offerFile(api, content, { job: { file_name: '../../x.parquet' } });
  expect((await get('', { isTerminal: true })).code).toBe(0);
  expect(await files()).toEqual(['_.._x.parquet']);
});

test('in a pipe the bytes go to stdout, and nothing else', async () => {
  const text = Buffer.from('{"a":1}\n'.repeat(1000));
  offerFile(api, text, {
    file: servesFile(text, { breakAfter: (request) => (request === 0 ? 1001 : null) }),
  });
  expect(await get()).toMatchObject({ code: 0, stdout: text.toString(), stderr: '' });
  expect(await files()).toEqual([]);
});

test('what was printed cannot be taken back when the file changes', async () => {
  const text = Buffer.from('{"a":1}\n'.repeat(1000));
  let printed = 0;
  offerFile(api, text, {
    file: servesFile(text, {
      breakAfter: () => 1001,
      beforeBreak: () => expect.poll(() => printed).toBe(1001),
      ignoresRange: true,
    }),
  });
  const onStdout = (piece: string) => {
    printed += piece.length;
  };
  await ends(get('--out -', { onStdout }), 1, text.toString().slice(0, 1001), [
    'Do not use what was printed',
  ]);
});

test('the manifest is written beside it, and --json says what was', async () => {
  const job = offerFile(api, content);
  const { stdout } = await get('--out x --manifest m.json --json');
  expect(JSON.parse(stdout)).toEqual({
    file: join(folder.path, 'x'),
    rows: 512_991,
    bytes: 60_000,
    sha256: job.sha256,
    elapsed_ms: 0,
    export_id: 'exp_1',
    digest: '9f3c00000000abe1',
  });
  expect(JSON.parse(await readFile(join(folder.path, 'm.json'), 'utf8'))).toEqual(manifestOf(job));
  expect(await files()).toEqual(['m.json', 'x']);
});

test('a file of no bytes is a file', async () => {
  offerFile(api, Buffer.alloc(0), { job: { rows_done: 0, rows_total: 0 } });
  expect((await get('--out x')).code).toBe(0);
  expect(await readFile(join(folder.path, 'x'))).toEqual(Buffer.alloc(0));
});

test('a template that skipped all records is told as that, not as an empty slice', async () => {
  const skipped = { rows: 2, fields: { prompt: 2 } };
  offerFile(api, Buffer.alloc(0), {
    job: { rows_done: 2, rows_total: 2 },
    manifest: { rows: 0, skipped, parts: [] },
  });
  const { code, stderr } = await get('--out x');
  expect(code).toBe(0);
  expect(stderr).toContain('note: 2 records skipped, without a value for prompt (2)');
  expect(stderr).not.toContain('no record matches');
});

test('connections that break anywhere end in the whole file', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 30_000 }), { maxLength: 6 }),
      async (breaks) => {
        api.reset();
        offerFile(api, content, {
          file: servesFile(content, { breakAfter: (request) => breaks[request] ?? null }),
        });
        const { code } = await get('--out x --force');
        expect(code).toBe(0);
        expect(await readFile(join(folder.path, 'x'))).toEqual(content);
        expect(await files()).toEqual(['x']);
        for (const [range, etag] of ranges()) expect(etag).toBe(range && etagOf(content));
      },
    ),
    { numRuns: runs(10) },
  );
});

test('a service that says "not now" is asked again when it wants to be', async () => {
  let calls = 0;
  offerFile(api, content, {
    file: (request, response) => {
      calls += 1;
      const busy = problem(503, 'shutting_down', 'Not now.', { headers: { 'retry-after': '7' } });
      return (calls === 1 ? busy : servesFile(content))(request, response);
    },
  });
  const { code, sleepsMillis } = await get('--out x');
  expect({ code, sleepsMillis }).toEqual({ code: 0, sleepsMillis: [7000] });
});

describe('what a broken run left', () => {
  /** Leaves 20,000 bytes in x.part. */
  const leavePart = async () => {
    let requests = 0;
    offerFile(api, content, {
      file: servesFile(content, {
        breakAfter: () => {
          requests += 1;
          return requests === 1 ? 20_000 : 0;
        },
        beforeBreak: () => expect.poll(() => sizeOf('x.part')).toBe(20_000),
      }),
    });
    await ends(get('--out x'), 5, [
      `20.0 kB of 60.0 kB lie in ${join(folder.path, 'x')}.part. Go on: svcctl exports get exp_1 --out ${join(folder.path, 'x')}`,
    ]);
    expect(await files()).toEqual(['x.part', 'x.part.json']);
    api.reset();
  };

  test('a later run goes on with', async () => {
    await leavePart();
    offerFile(api, content);
    await ends(get('--out x'), 0, ['went on at 20.0 kB']);
    expect(ranges()).toEqual([['bytes=20000-', etagOf(content)]]);
    expect(await readFile(join(folder.path, 'x'))).toEqual(content);
    expect(await files()).toEqual(['x']);
  });

  test('is dropped when the file of the job is another one', async () => {
    await leavePart();
    const other = Buffer.from(content).reverse();
    offerFile(api, other);
    expect((await get('--out x')).code).toBe(0);
    expect(ranges()).toEqual([[undefined, undefined]]);
    expect(await readFile(join(folder.path, 'x'))).toEqual(other);
  });

  test('is dropped when the service knows its ETag no more', async () => {
    await leavePart();
    offerFile(api, content, { file: servesFile(content, { etag: '"v2"' }) });
    expect((await get('--out x')).code).toBe(0);
    expect(ranges()).toEqual([['bytes=20000-', etagOf(content)]]);
    expect(await readFile(join(folder.path, 'x'))).toEqual(content);
  });

  test('is dropped when the service has no such bytes', async () => {
    await leavePart();
    offerFile(api, content, {
      file: (request, response) =>
        (request.headers.range === undefined
          ? servesFile(content)
          : problem(416, 'range_unsatisfiable', 'The file has no such bytes.'))(request, response),
    });
    expect((await get('--out x')).code).toBe(0);
    expect(await readFile(join(folder.path, 'x'))).toEqual(content);
  });

  test('is found out when the disk bent it, and the next run starts anew', async () => {
    await leavePart();
    const part = await readFile(join(folder.path, 'x.part'));
    part[7] = (part[7] ?? 0) ^ 1;
    await writeFile(join(folder.path, 'x.part'), part);
    offerFile(api, content);
    await ends(get('--out x'), 1, ['(export_mismatch)']);
    expect(await files()).toEqual([]);
    expect((await get('--out x')).code).toBe(0);
  });

  test('is not touched when nothing says what it is a part of', async () => {
    await writeFile(join(folder.path, 'x.part'), 'what a streamed export left');
    offerFile(api, content);
    expect((await get('--out x')).code).toBe(0);
    expect(ranges()).toEqual([[undefined, undefined]]);
    expect(await readFile(join(folder.path, 'x'))).toEqual(content);
  });
});

test('Ctrl-C leaves the part, and says how to go on', async () => {
  const interrupt = new AbortController();
  offerFile(api, content, {
    file: (_request, response) => {
      response.writeHead(200, { etag: etagOf(content), 'content-length': content.length });
      response.write(content.subarray(0, 5000));
    },
  });
  const call = get('--out x', { signal: interrupt.signal });
  await expect.poll(() => sizeOf('x.part')).toBe(5000);
  interrupt.abort();
  const { code, stderr } = await call;
  expect(code).toBe(130);
  expect(stderr).toContain('Go on: svcctl exports get exp_1 --out');
  expect(await files()).toEqual(['x.part', 'x.part.json']);
});

test('a terminal sees how much of the file is there, how fast it comes, and how long yet', async () => {
  offerFile(api, content, {
    file: (_request, response) => {
      response.writeHead(200, { etag: etagOf(content), 'content-length': content.length });
      response.write(content.subarray(0, 30_000));
      response.end(content.subarray(30_000));
    },
  });
  let at = 0;
  const now = () => {
    at += 500;
    return at;
  };
  const { stderr } = await get('', { isTerminal: true, now });
  expect(stderr).toMatch(
    /TX_2001-02\.parquet {2}[█░]{20} +\d+ % {3}[\d.]+ kB of 60\.0 kB {3}[\d.]+ kB\/s {3}0:0\d left/,
  );
});

/** For machines that have much else to do. */
const slow = { timeout: 120_000 };

describe('of runs at once to one file', () => {
  test('one that ends after another has the name leaves nothing of its own', async () => {
    let isFirstDone = () => {};
    const firstDone = new Promise<void>((resolve) => {
      isFirstDone = resolve;
    });
    let requests = 0;
    const serve = servesFile(content);
    offerFile(api, content, {
      file: async (request, response) => {
        requests += 1;
        // Its name is looked at and free; its part is begun once the other has become the file.
        if (requests === 1) await firstDone;
        await serve(request, response);
      },
    });
    const late = get('--out x');
    await expect.poll(() => requests, slow).toBe(1);
    expect((await get('--out x')).code).toBe(0);
    isFirstDone();
    const { code, stderr } = await late;
    expect(code).toBe(1);
    expect(stderr).toContain('exists already');
    expect(stderr).not.toContain('Go on');
    expect(await readFile(join(folder.path, 'x'))).toEqual(content);
    expect(await files()).toEqual(['x']);
  });

  test('one whose part another has begun anew does not say that it lies there', async () => {
    let requests = 0;
    const interrupt = new AbortController();
    offerFile(api, content, {
      file: (_request, response) => {
        requests += 1;
        response.writeHead(200, { etag: etagOf(content), 'content-length': content.length });
        response.write(content.subarray(0, requests * 5000));
      },
    });
    const first = get('--out x', { signal: interrupt.signal });
    await expect.poll(() => sizeOf('x.part'), slow).toBe(5000);
    await rm(join(folder.path, 'x.part.json'));
    const second = get('--out x', { signal: interrupt.signal });
    await expect.poll(() => sizeOf('x.part'), slow).toBe(10_000);
    interrupt.abort();
    expect((await first).stderr).not.toContain('Go on');
    expect((await second).stderr).toContain('10.0 kB of 60.0 kB lie in');
    expect(await files()).toEqual(['x.part', 'x.part.json']);
  });

  test.each([
    'exports get exp_1 --out x',
    'analytics export --tenant TX --month 2001-02 --format parquet --out x',
  ])('%s: at least one is whole, and nothing else is left, however they meet', async (words) => {
    offerFile(api, content);
    api.on('POST /exports/parquet', (_request, response) => {
      const digest = createHash('sha256').update(content).digest('base64');
      response.writeHead(200, { 'x-record-count': '1', trailer: 'Repr-Digest' });
      response.write(content);
      response.addTrailers({ 'Repr-Digest': `sha-256=:${digest}:` });
      response.end();
    });
    for (let round = 0; round < 12; round += 1) {
      const runs = Array.from({ length: 3 }, () => cli(words));
      const results = await Promise.all(runs);
      expect(results.map(({ code }) => code)).toContain(0);
      for (const { code, stderr } of results.filter((result) => result.code !== 0)) {
        expect([code, stderr]).toEqual([1, expect.stringContaining('(file_unreadable)')]);
      }
      expect(await readFile(join(folder.path, 'x'))).toEqual(content);
      expect(await files()).toEqual(['x']);
      await rm(join(folder.path, 'x'));
    }
  });
});

test('--wait follows a job that is at work, and then gets its file', async () => {
  const job = offerFile(api, content);
  const atWork = { ...job, state: 'running', has_file: false };
  api.on('GET /exports/exp_1', inTurn(atWork, atWork, job));
  const { code } = await get('--out x --wait');
  expect(code).toBe(0);
  expect(api.requests.filter(({ path }) => path === '/exports/exp_1')).toHaveLength(3);
  expect(await readFile(join(folder.path, 'x'))).toEqual(content);
});
