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

/** What bash offers for the last word; `tenants` are what the service answers. */
async function complete(
  words: string[],
  tenants: string[] = [],
): Promise<{ offers: string[]; files: string[]; asked: string }> {
  const folder = await newFolder();
  const { stdout: script } = await run(['completion', 'bash']);
  await writeFile(join(folder, 'names'), tenants.map((name) => `${name}\n`).join(''));
  await writeFile(
    join(folder, 'svcctl'),
    `#!/bin/sh\necho "$@" > "${folder}/asked"\ncat "${folder}/names"\n`,
  );
  await chmod(join(folder, 'svcctl'), 0o755);
  const typed = words.map((word) => `'${word}'`).join(' ');
  const program = `${script}
COMP_WORDS=(svcctl ${typed}); COMP_CWORD=${words.length}; _svcctl; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await promisify(execFile)('bash', ['--norc', '-c', program], {
    cwd: folder,
    env: { PATH: `${folder}:${process.env.PATH}` },
  });
  const files = await readdir(folder);
  const asked = await readFile(join(folder, 'asked'), 'utf8').catch(() => '');
  await rm(folder, { recursive: true });
  return { offers: stdout.split('\n').filter((line) => line !== ''), files, asked: asked.trim() };
}

test.each([
  [['rec'], ['records']],
  [
    ['records', ''],
    [
      'ls',
      'show',
      'count',
      'find',
      'fields',
      'tail',
      'ingest',
      'lint',
      'import',
      'erase',
      'recount',
      'tags',
      'versions',
      '--help',
    ],
  ],
  [['records', 'ls', '--le'], ['--level']],
  [
    ['records', 'ls', '--level', ''],
    ['tenant', 'store', 'month'],
  ],
  [
    ['--profile', 'ops', 'tokens', 'r'],
    ['revoke', 'rotate'],
  ],
  [['analytics', 'export', '--style', 's'], ['spreadsheet']],
  [['tokens', 'create', '--preset', 'su'], ['support-readonly']],
  [
    ['dlq', 'ls', '--status', ''],
    ['pending', 'abandoned'],
  ],
  [
    ['dlq', 'ret'],
    ['retry', 'retries'],
  ],
  [
    ['listen', '--mode', 're'],
    ['reset', 'redirect'],
  ],
  [
    ['analytics', 'export', '--format', ''],
    ['csv', 'ndjson', 'parquet'],
  ],
  [['analytics', 'export', '--ver'], ['--version']],
  [
    ['records', 'tags', ''],
    ['ls', 'add', 'rm', '--help'],
  ],
  [['records', 'versions', 'create', '--dataset', 'f'], ['fine_tuning']],
  [
    ['exports', 'ls', '--state', 'c'],
    ['completed', 'cancelled'],
  ],
  [['jobs', 'ls', '--kind', 'e'], ['export']],
  [['completion', 'z'], ['zsh']],
  [['records', 'ls', '--q', ''], []],
  [
    ['dlq', 'ls', '--status', '='],
    ['pending', 'abandoned'],
  ],
  [['dlq', 'ls', '--status', '=', 'ab'], ['abandoned']],
  [['records', 'ls', '--json', '--le'], ['--level']],
  [['__'], []],
])('bash completes %j with %j', async (words, offers) => {
  expect((await complete(words)).offers).toEqual(offers);
});

test('bash completes tenants from the service, quoted, and never runs their names', async () => {
  const { offers, files } = await complete(
    ['records', 'ls', '--tenant', 'T'],
    ['TX', 'T $(touch hacked)', '`touch hacked`', 'T;touch hacked'],
  );
  expect(offers).toEqual(['TX', 'T\\ \\$\\(touch\\ hacked\\)', 'T\\;touch\\ hacked']);
  expect(files).not.toContain('hacked');
});

test.each([
  [['endpoints', 'show', 'ep_'], 'endpoints'],
  [['deliveries', 'ls', '--endpoint', 'ep_'], 'endpoints'],
  [['records', 'versions', 'rm', 'ep_'], 'records/versions'],
  [['endpoints', 'create', '--event', 'ep_'], 'event-types'],
  [['profile', 'use', 'ep_'], 'profile'],
  [['--profile', 'ep_'], 'profile'],
  [['exports', 'ls', '--json', 'ep_'], 'json GET /exports data'],
  [['whoami', '--json', 'ep_'], 'json name,scopes,tenants,expires_at,url,source,profile'],
])('bash asks for the names that may follow in %j: %s', async (words, what) => {
  const { offers, asked } = await complete(words, ['ep_1', 'ep_2', 'other']);
  const typed = `svcctl ${words.join(' ')}`;
  expect([offers, asked]).toEqual([['ep_1', 'ep_2'], `__complete ${what} -- ep_ ${typed}`]);
});

test('bash asks for nothing where an event is named by an id', async () => {
  expect((await complete(['records', 'show', '--event', 'ep_'], ['ep_1'])).offers).toEqual([]);
});

test('bash asks for stores and months with what was typed before', async () => {
  const words = ['records', 'ls', '--tenant', 'TX', '--store', 'D'];
  const { offers, asked } = await complete(words, ['DFW', 'IAH']);
  expect([offers, asked]).toEqual([['DFW'], `__complete store -- D svcctl ${words.join(' ')}`]);
});

test.each([
  ['records ingest'],
  ['apply'],
  ['backup --out'],
  ['restore'],
  ['exports verify --file'],
])('bash completes the names of files after %s', async (line) => {
  const { offers } = await complete([...line.split(' '), 'nam']);
  expect(offers).toEqual(['names']);
});

test('__complete prints fields of --json, those that are chosen before the comma kept', async () => {
  await ends(run(['__complete', 'json GET /exports data', '--', 'id,rows_d']), 0, 'id,rows_done\n');
  await ends(run(['__complete', 'json name,url', '--', 'name,']), 0, 'name,url\n');
});

test('__complete prints the stores and months of the tenant that was named, each once', async () => {
  const rows = [
    { store: 'DFW', month: '2026-03' },
    { store: 'IAH', month: '2026-03' },
  ];
  api.on('GET /enrichment/datasets', json({ data: rows, next_cursor: null }));
  const words = 'svcctl records ls --tenant TX --month';
  await ends(cli(`__complete month -- 2026 ${words}`), 0, '2026-03\n', []);
  await ends(cli(`__complete store -- I ${words}`), 0, 'IAH\n', []);
  expect(api.requests.map(({ query }) => query)).toEqual([
    { tenant: 'TX', level: 'month', limit: '500', q: '2026' },
    { tenant: 'TX', level: 'store', limit: '50', q: 'I' },
  ]);
});

test('__complete prints ids that begin so, and profiles without asking any service', async () => {
  api.on('GET /tokens', json({ data: [{ id: 'tok_1' }, { id: 'tok_2' }, { id: 'x' }] }));
  await ends(cli('__complete tokens -- tok_'), 0, 'tok_1\ntok_2\n', []);
  const cwd = await newFolder();
  const profiles = { ops: { url: 'https://x.example', token: 'svc_x' } };
  await writeProfiles({ HOME: cwd }, { default: 'ops', profiles });
  await ends(run(['__complete', 'profile', '--', 'o'], { cwd }), 0, 'ops\n', []);
  await rm(cwd, { recursive: true });
  expect(api.requests).toHaveLength(1);
});

test('__complete prints tenants that begin so', async () => {
  api.on(
    'GET /enrichment/datasets',
    json({ data: [{ tenant: 'TX' }, { tenant: 'TY' }], next_cursor: null }),
  );
  await ends(cli('__complete tenant -- T'), 0, 'TX\nTY\n', []);
  expect(api.requests[0]?.query).toEqual({ level: 'tenant', limit: '50', q: 'T' });
});

test('__complete is silent when the service takes too long, refuses or is unknown', async () => {
  const silent = { code: 0, stdout: '', stderr: '' };
  expect(await run(['__complete', 'tenant', ''])).toMatchObject(silent);
  expect(await cli('__complete tenant ')).toMatchObject(silent);
  api.on('*', () => new Promise(() => {}));
  const timeouts = { completionMillis: 100 };
  expect(await cli('__complete tenant ', { timeouts })).toMatchObject(silent);
});

test('__complete tells what each id is where it is asked to, of the profile that is typed', async () => {
  const rows = [
    { id: 'ep_1', url: 'https://a.example/in', tenant: 'TX', health: 'ok', secret: null },
  ];
  api.on('GET /webhook/endpoints', json({ data: rows }));
  const said = 'ep_1\thttps://a.example/in · TX · ok\n';
  await ends(cli('__complete --describe endpoints -- ep svcctl endpoints show ep'), 0, said, []);
  const cwd = await newFolder();
  const other = { url: api.url, token: 'svc_x' };
  await writeProfiles({ HOME: cwd }, { default: null, profiles: { other } });
  const words = 'svcctl --profile other endpoints show ep'.split(' ');
  await ends(run(['__complete', 'endpoints', '--', 'ep', ...words], { cwd }), 0, 'ep_1\n', []);
  await rm(cwd, { recursive: true });
});

/** What zsh or fish offers for what follows `svcctl `; null where this machine has no such shell. */
async function offeredBy(shell: 'zsh' | 'fish', line: string): Promise<string[] | null> {
  const folder = await newFolder();
  const { stdout: script } = await run(['completion', shell]);
  await writeFile(join(folder, 'script'), script);
  await writeFile(
    join(folder, 'svcctl'),
    '#!/bin/sh\nprintf "ep_1\\thttps://a.example · TX\\nT:\\$(x)\\n"\n',
  );
  await chmod(join(folder, 'svcctl'), 0o755);
  const words = `svcctl ${line}`.split(' ').map((word) => `'${word}'`);
  // What zsh itself would do with what it is given is left out: it does so at a terminal only.
  const zsh = `compdef() { : }; compset() { : }; _files() { print files }; compadd() { shift; print -rl -- "$@" }
_describe() { [[ $1 == -o ]] && shift; print -rl -- "\${(@P)2}" }
source ${folder}/script; words=(${words.join(' ')}); CURRENT=${words.length}; _svcctl`;
  const fish = `source ${folder}/script; complete -C 'svcctl ${line}'`;
  const args = shell === 'zsh' ? ['-f', '-c', zsh] : ['--no-config', '-c', fish];
  try {
    const { stdout } = await promisify(execFile)(shell, args, {
      env: { HOME: folder, PATH: `${folder}:${process.env.PATH}` },
    });
    return stdout.split('\n').filter((offer) => offer !== '');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    process.stderr.write(`${shell} is not on this machine: its completion was not tried.\n`);
    return null;
  } finally {
    await rm(folder, { recursive: true });
  }
}

test.each([
  ['zsh', 'rec', 'records:enrichment records: browse, read, store'],
  ['zsh', 'dlq retr', 'retry:'],
  ['zsh', 'dlq jobs ', '--action:'],
  ['zsh', 'dlq ls --status ', 'abandoned'],
  ['zsh', 'dlq ls --status=ab', 'abandoned'],
  ['zsh', 'endpoints show ', 'ep_1:https\\://a.example · TX'],
  ['zsh', 'records ls --tenant ', 'T\\:$(x)'],
  ['zsh', 'records ingest ', 'files'],
  ['fish', 'rec', 'records\tenrichment records: browse, read, store'],
  ['fish', 'dlq ls --status ', 'abandoned\t'],
  ['fish', 'dlq ls --status=ab', '--status=abandoned\t'],
  ['fish', 'dlq jobs --act', '--action\t'],
  ['fish', 'endpoints show ', 'ep_1\thttps://a.example · TX'],
] as const)('%s completes %j with %j, where it is there', async (shell, line, offer) => {
  const offers = await offeredBy(shell, line);
  if (offers === null) return;
  expect(
    offers.find((each) => each.startsWith(offer)),
    offers.join('\n'),
  ).toBeDefined();
});

test('fish offers no words of another noun that is called as a verb', async () => {
  const offers = await offeredBy('fish', 'dlq jobs ');
  expect(offers ?? []).not.toContainEqual(expect.stringMatching(/^wait/));
});

test.each(['zsh', 'fish'])('the %s script knows every command and option', async (shell) => {
  const { stdout } = await run(['completion', shell]);
  for (const word of ['ingest', 'revoke', 'fine_tuning']) expect(stdout).toContain(word);
  expect(stdout).toMatch(/(--| -l )ndjson/);
});
