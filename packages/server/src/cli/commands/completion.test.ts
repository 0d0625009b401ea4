import { execFile } from 'node:child_process';
import { chmod, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { writeProfiles } from '../connection.ts';
import { prepareCli } from '../testing/prepare-cli.ts';
import { json } from '../testing/receiver.ts';
import { ends, newFolder, run } from '../testing/run.ts';

const { api, cli } = prepareCli();

/** What completes what is typed behind `svcctl `, the last word of which may be empty. */
async function offersFor(line: string): Promise<string[]> {
  const { stdout } = await cli(['__complete', '--', ...line.split(' ')]);
  return stdout.split('\n').filter((offer) => offer !== '');
}

const levels = ['tenant', 'store', 'month'];

test.each([
  ['rec', ['records']],
  ['records t', ['tail', 'tags']],
  ['records ls --le', ['--level']],
  ['records ls --level ', levels],
  ['records list --level ', levels],
  ['--profile ops tokens r', ['revoke', 'rotate']],
  ['analytics export --style s', ['spreadsheet']],
  ['tokens create --preset su', ['support-readonly']],
  ['dlq ls --status ', ['pending', 'abandoned']],
  ['dlq ls --status =', ['pending', 'abandoned']],
  ['dlq ls --status = ab', ['abandoned']],
  ['dlq ls --status=ab', ['--status=abandoned']],
  ['dlq ls --state=ab', ['--state=abandoned']],
  ['dlq ls --state ab', ['abandoned']],
  ['dlq ret', ['retry', 'retries']],
  ['listen --mode re', ['reset', 'redirect']],
  ['analytics export --format ', ['csv', 'ndjson', 'parquet']],
  ['analytics export --ver', ['--version']],
  ['records tags ', ['ls', 'add', 'rm']],
  ['records versions create --dataset f', ['fine_tuning']],
  ['exports ls --state c', ['completed', 'cancelled']],
  ['jobs ls --kind e', ['export']],
  ['completion z', ['zsh']],
  ['records ls --q ', []],
  ['records ls --json --le', ['--level']],
  ['records show --event ep_', []],
  ['config ', ['--json', '--help']],
  ['__', []],
  ...['records ingest ', 'apply ', 'backup --out ', 'restore ', 'exports verify --file nam'].map(
    (line) => [line, ['/']] as const,
  ),
  ['exports ls --json id,rows_d', ['id,rows_done']],
  ['whoami --json name,u', ['name,url']],
] as const)('%j is completed with %j', async (line, offers) => {
  expect(await offersFor(line)).toEqual(offers);
  expect(api.requests).toEqual([]);
});

test.each([
  ['endpoints show ep_', 'GET /webhook/endpoints'],
  ['deliveries ls --endpoint ep_', 'GET /webhook/endpoints'],
  ['records versions rm ep_', 'GET /enrichment/dataset-versions'],
  ['endpoints create --event ep_', 'GET /webhook/event-types'],
])('the ids that complete %j are those of %s', async (line, route) => {
  api.on(route, json({ data: [{ id: 'ep_1' }, { type: 'ep_2' }, { id: 'other' }] }));
  expect(await offersFor(line)).toEqual(['ep_1', 'ep_2']);
});

test('stores and months are those of what was typed before, each once', async () => {
  const rows = [
    { store: 'DFW', month: '2026-03' },
    { store: 'IAH', month: '2026-03' },
  ];
  api.on('GET /enrichment/datasets', json({ data: rows, next_cursor: null }));
  expect(await offersFor('records ls --tenant TX --month 2026')).toEqual(['2026-03']);
  expect(await offersFor('records ls --tenant TX --store I')).toEqual(['IAH']);
  expect(api.requests.map(({ query }) => query)).toEqual([
    { tenant: 'TX', level: 'month', limit: '500', q: '2026' },
    { tenant: 'TX', level: 'store', limit: '50', q: 'I' },
  ]);
});

test('profiles are completed without asking any service', async () => {
  const cwd = await newFolder();
  const profiles = { ops: { url: 'https://x.example', token: 'svc_x' } };
  await writeProfiles({ HOME: cwd }, { default: 'ops', profiles });
  await ends(run(['__complete', '--', 'profile', 'use', 'o'], { cwd }), 0, 'ops\n', []);
  await ends(run(['__complete', '--', '--profile', 'o'], { cwd }), 0, 'ops\n', []);
  await rm(cwd, { recursive: true });
});

test('tenants are those that begin so', async () => {
  api.on(
    'GET /enrichment/datasets',
    json({ data: [{ tenant: 'TX' }, { tenant: 'TY' }], next_cursor: null }),
  );
  expect(await offersFor('records ls --tenant T')).toEqual(['TX', 'TY']);
  expect(await offersFor('records ls --tenant=T')).toEqual(['--tenant=TX', '--tenant=TY']);
  expect(api.requests[0]?.query).toEqual({ level: 'tenant', limit: '50', q: 'T' });
});

test('nothing is offered or said when the service takes too long, refuses or is unknown', async () => {
  const silent = { code: 0, stdout: '', stderr: '' };
  const words = ['__complete', '--', 'records', 'ls', '--tenant', ''];
  expect(await run(words)).toMatchObject(silent);
  expect(await cli(words)).toMatchObject(silent);
  api.on('*', () => new Promise(() => {}));
  expect(await cli(words, { timeouts: { completionMillis: 100 } })).toMatchObject(silent);
});

test('what each is is told where that is asked for, of the profile that is typed', async () => {
  await ends(cli('__complete --describe -- dlq retrie'), 0, /^retries\tlist the jobs of /);
  const rows = [
    { id: 'ep_1', url: 'https://a.example/in', tenant: 'TX', health: 'ok', secret: null },
  ];
  api.on('GET /webhook/endpoints', json({ data: rows }));
  const said = 'ep_1\thttps://a.example/in · TX · ok\n';
  await ends(cli('__complete --describe -- endpoints show ep'), 0, said, []);
  const cwd = await newFolder();
  const other = { url: api.url, token: 'svc_x' };
  await writeProfiles({ HOME: cwd }, { default: null, profiles: { other } });
  const words = '__complete -- --profile other endpoints show ep'.split(' ');
  await ends(run(words, { cwd }), 0, 'ep_1\n', []);
  await rm(cwd, { recursive: true });
});

const shells = ['bash', 'zsh', 'fish'] as const;
const told = 'ep_1\thttps://a.example · TX\nT:$(touch hacked)\n';

/** What a shell makes of what svcctl prints, and what it was asked; null where this machine has no such shell. */
async function offeredBy(shell: (typeof shells)[number], words: string[], printed: string) {
  const folder = await newFolder();
  const { stdout: script } = await run(['completion', shell]);
  await writeFile(join(folder, 'script'), script);
  await writeFile(join(folder, 'names'), printed);
  await writeFile(
    join(folder, 'svcctl'),
    `#!/bin/sh\nprintf '<%s>' "$@" > ${folder}/asked\ncat ${folder}/names\n`,
  );
  await chmod(join(folder, 'svcctl'), 0o755);
  const typed = words.map((word) => `'${word}'`).join(' ');
  // What zsh itself would do with what it is given is left out: it does so at a terminal only.
  const programs = {
    bash: `COMP_WORDS=(svcctl ${typed}); COMP_CWORD=${words.length}; _svcctl; printf '%s\\n' "\${COMPREPLY[@]}"`,
    zsh: `words=(svcctl ${typed}); CURRENT=${words.length + 1}; _svcctl`,
    fish: `complete -C 'svcctl ${words.join(' ')}'`,
  };
  const before =
    shell === 'zsh'
      ? `compdef() { : }; _files() { print names }; _describe() { print -rl -- "\${(@P)2}" }; `
      : '';
  const plain = { bash: '--norc', zsh: '-f', fish: '--no-config' };
  const program = `${before}source ${folder}/script; ${programs[shell]}`;
  try {
    const { stdout } = await promisify(execFile)(shell, [plain[shell], '-c', program], {
      cwd: folder,
      env: { HOME: folder, PATH: `${folder}:${process.env.PATH}` },
    });
    const offers = stdout.split('\n').filter((offer) => offer !== '');
    const asked = await readFile(join(folder, 'asked'), 'utf8');
    return { offers, asked, files: await readdir(folder) };
  } catch (error) {
    // EACCES: it lies in a folder of the PATH that is somebody else's.
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'EACCES') throw error;
    process.stderr.write(`${shell} is not on this machine: its completion was not tried.\n`);
    return null;
  } finally {
    await rm(folder, { recursive: true });
  }
}

const quoted = {
  bash: ['T:\\$\\(touch\\ hacked\\)'],
  zsh: ['ep_1:https\\://a.example · TX', 'T\\:$(touch hacked)'],
  fish: ['ep_1\thttps://a.example · TX', 'T:$(touch hacked)'],
};

test.each(shells)('%s offers what svcctl prints, and never runs it', async (shell) => {
  const found = await offeredBy(shell, ['endpoints', 'show', ''], told);
  if (found === null) return;
  const describe = shell === 'bash' ? '' : '<--describe>';
  expect(found.asked).toBe(`<__complete>${describe}<--><endpoints><show><>`);
  expect(found.offers).toEqual(expect.arrayContaining(quoted[shell]));
  expect(found.files).not.toContain('hacked');
});

test.each(shells)('%s offers names of files where svcctl prints /', async (shell) => {
  const found = await offeredBy(shell, ['apply', 'nam'], '/\n');
  expect(found?.offers ?? ['names']).toEqual(['names']);
});

test('bash passes on the = of an option as the word that it is there', async () => {
  const found = await offeredBy('bash', ['dlq', 'ls', '--status', '='], 'pending\n');
  expect(found).toMatchObject({ offers: ['pending'] });
  expect(found?.asked).toBe('<__complete><--><dlq><ls><--status><=>');
});
