import type { Command } from 'commander';
import { beforeEach, describe, expect, test } from 'vitest';
import { apiContract } from '../contract.ts';
import { fieldsOf } from './fields.ts';
import { createProgram, describedAt } from './program.ts';
import { fieldNames } from './sent-fields.ts';
import { useReceiver } from './testing/prepare-cli.ts';
import { json, pages, problem } from './testing/receiver.ts';
import { ends, run } from './testing/run.ts';
import { flagsOf } from './verb.ts';

/** How a command is called, and what it prints with --json. */
type Call = readonly [words: string, json?: 'array' | 'object'];

const callsOfApi: Readonly<Record<string, Call>> = {
  'records ls': ['', 'array'],
  'records show': ['--tenant T', 'array'],
  'records count': ['--tenant T', 'object'],
  'records find': ['e', 'array'],
  'records fields': ['--tenant T', 'object'],
  'records tail': ['--tenant T --no-follow', 'array'],
  'records ingest': ['-', 'object'],
  // Against a real service: see commands/records-lint.test.ts.
  'records lint': ['- --remote'],
  'records erase': ['--tenant T --event-id E --dry-run', 'object'],
  'analytics export': ['--tenant T --month 2026-03'],
  'records tags ls': ['', 'array'],
  'records tags add': ['--tenant T --dataset training', 'object'],
  'records tags rm': ['tag_1'],
  'records versions ls': ['', 'array'],
  'records versions show': ['ver_1', 'object'],
  'records versions create': ['--tenant T --dataset training --name N', 'object'],
  'records versions diff': ['ver_1 ver_2', 'object'],
  'records versions bundle': ['ver_1 --dir /nowhere/bundle'],
  'records versions rm': ['ver_1 --yes'],
  'exports ls': ['', 'array'],
  'exports show': ['exp_1', 'object'],
  'exports schema': ['--tenant T', 'object'],
  'exports get': ['exp_1'],
  'exports cancel': ['exp_1'],
  // What it prints is about a real file: see exports/verify.db.test.ts.
  'exports verify': ['exp_1'],
  'jobs ls': ['', 'array'],
  'jobs show': ['exp_1', 'object'],
  'jobs wait': ['exp_1', 'object'],
  'jobs pause': ['rpl_1'],
  'jobs resume': ['rpl_1'],
  'jobs cancel': ['exp_1'],
  'tokens create': ['--name N --preset pipeline', 'object'],
  'tokens ls': ['', 'array'],
  'audit ls': ['', 'array'],
  'audit export': [''],
  'audit verify': ['', 'object'],
  status: ['', 'object'],
  ps: ['', 'array'],
  doctor: ['', 'array'],
  'tokens revoke': ['tok_1 --yes'],
  'retention plan': ['', 'array'],
  'retention run': ['--yes'],
  'retention adopt-store': ['--yes'],
  'retention orphans ls': ['', 'array'],
  'retention orphans adopt': ['records/a --yes'],
  'retention orphans rm': ['records/a --yes'],
  'retention forget': ['records/a --yes'],
  'retention moves': ['', 'array'],
  'retention move': ['mv_1', 'object'],
  'retention segments': ['--live', 'array'],
  'retention table': ['', 'object'],
  'retention verify': ['', 'object'],
  'retention policy ls': ['', 'array'],
  'retention policy show': ['T', 'object'],
  'retention policy set': ['T --hot-days 3', 'object'],
  'retention policy rm': ['T --yes'],
  'dlq ls': ['--status pending', 'array'],
  'dlq show': ['dlv_1', 'object'],
  'dlq retry': ['dlv_1', 'array'],
  'dlq retries': ['', 'array'],
  'dlq jobs': ['', 'array'],
  'dlq job': ['rty_1', 'object'],
  'dlq pause': ['rty_1'],
  'dlq resume': ['rty_1'],
  'dlq cancel': ['rty_1'],
  'dlq groups': ['--status abandoned', 'array'],
  'dlq purge': ['dlv_1 --yes'],
  'endpoints ls': ['', 'array'],
  'endpoints show': ['ep_1', 'object'],
  'endpoints create': ['--tenant T --url https://x.example/', 'object'],
  'endpoints change': ['ep_1 --description D', 'object'],
  'endpoints enable': ['ep_1'],
  'endpoints disable': ['ep_1'],
  'endpoints delete': ['ep_1 --yes'],
  'endpoints rotate-secret': ['ep_1 --yes', 'object'],
  'endpoints end-old-secrets': ['ep_1 --yes'],
  'endpoints ping': ['ep_1', 'object'],
  'endpoints poll': ['ep_1 --once'],
  'endpoints skip': ['ep_1 --key K'],
  'endpoints replay': ['ep_1 --since 2h --dry-run', 'object'],
  'endpoints test-filter': ['--tenant T', 'object'],
  'schedules create': ['--tenant T --cron x --to /x', 'object'],
  'schedules ls': ['', 'array'],
  'schedules show': ['sch_1', 'object'],
  'schedules change': ['sch_1 --cron x'],
  'schedules pause': ['sch_1'],
  'schedules resume': ['sch_1'],
  'schedules run': ['sch_1'],
  'schedules history': ['sch_1', 'array'],
  'schedules delete': ['sch_1 --yes'],
  'notify add': ['--webhook https://x.example/', 'object'],
  'notify ls': ['', 'array'],
  'notify change': ['ntt_1 --off'],
  'notify rm': ['ntt_1 --yes'],
  'notify test': ['ntt_1'],
  'notify log': ['', 'array'],
  'portal link': ['T', 'object'],
  'portal ls': ['', 'array'],
  'portal revoke': ['plk_1'],
  'export-config': [''],
  'event-types ls': ['', 'array'],
  'event-types show': ['a.b', 'object'],
  'event-types set': ['a.b', 'object'],
  'event-types rm': ['a.b --yes'],
  'incidents send': ['--tenant T --type a.b', 'object'],
  'incidents report': ['--file -', 'object'],
  'incidents ls': ['', 'array'],
  'incidents erase': ['inc_1 --yes', 'object'],
  'incidents show': ['inc_1', 'object'],
  'deliveries ls': ['', 'array'],
  login: [''],
  whoami: ['', 'object'],
};
const otherCalls: Readonly<Record<string, Call>> = {
  // What they do is tested on a database: see backup/ and e2e/slow/backup.test.ts.
  'backup verify': ['/b'],
  'backup ls': ['/b'],
  restore: ['/b'],
  serve: [''],
  demo: [''],
  drain: [''],
  // What they do is tested on a database: see app/keys.db.test.ts.
  'keys ls': [''],
  'keys rotate': ['--yes'],
  'records recount': ['--yes'],
  // What they do is tested on a database: see commands/version.db.test.ts and migrate.db.test.ts.
  migrate: [''],
  version: [''],
  // What it prints is about real files: see commands/records-import.db.test.ts.
  'records import': ['a.parquet'],
  // They read a file first: see as-code/as-code.db.test.ts.
  apply: ['a.yaml'],
  'webhooks import': ['--from svix --tenant T a.json'],
  // What it does is tested on a cluster, by npm run test:citus.
  'database distribute': ['--dry-run'],
  listen: [''],
  logout: [''],
  // What they do is tested on a file of profiles: see commands/profile.test.ts.
  'profile ls': ['', 'array'],
  'profile use': ['ops'],
  'profile show': ['', 'object'],
  'profile rm': ['ops'],
  config: ['', 'array'],
  completion: ['bash'],
  __complete: ['tenant'],
};
const calls = { ...callsOfApi, ...otherCalls };
const asking = Object.entries(callsOfApi);

function wordsOf(path: string, [words]: Call): string[] {
  return `${path} ${words}`.trim().split(' ');
}

const me = { name: 'ops laptop', scopes: ['admin'], tenants: null, expires_at: null };
const api = useReceiver();

describe('every command', () => {
  test('stands in the table of this test', async () => {
    expect(leaves(await programTree()).sort()).toEqual(Object.keys(calls).sort());
  });

  test.each(Object.keys(calls))('%s has help with an example, on stdout', async (path) => {
    const { code, stdout, stderr } = await run([...path.split(' '), '--help']);
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`Examples:\n(.*\n)*? +\\$ .*svcctl .*${path}`));
    expect(stderr).toBe('');
  });

  test.each(Object.keys(calls))('%s refuses an unknown option with exit 2', async (path) => {
    await ends(run([...path.split(' '), '--helpp']), 2, [
      "error: unknown option '--helpp' (usage_invalid)\n  Did you mean --help?",
      `See: svcctl ${path} --help`,
    ]);
  });
});

type Schema = { properties?: Record<string, unknown>; required?: readonly string[] };
type Input = { query?: Schema; body?: Schema };

describe('what a command says of itself', () => {
  const routes = new Map<string, Input>(
    Object.values(apiContract).map((route) => [`${route.method} ${route.path}`, route as Input]),
  );

  test.each(Object.keys(calls))('%s: its options are what its route takes', async (path) => {
    const { route = '', isPlain, options = [] } = (await describedAt(path.split(' '))) ?? {};
    if (!isPlain) return;
    const { query, body } = routes.get(route) ?? {};
    const takes = (route.startsWith('GET') ? query : body) ?? {};
    const required = options.filter((row) => 'length' in row && row[1].endsWith('(required)'));
    const known = Object.keys(takes.properties ?? {});
    expect(known).toEqual(expect.arrayContaining(Object.values(fieldNames(options))));
    const given = Object.values(fieldNames(required));
    expect(given).toEqual(expect.arrayContaining([...(takes.required ?? [])]));
  });

  test.each(Object.keys(calls))('%s: it knows the fields of its --json', async (path) => {
    const { options = [], answers } = (await describedAt(path.split(' '))) ?? {};
    const takesFields = options.some((row) => flagsOf(row).startsWith('--json ['));
    if (takesFields) expect(await fieldsOf(answers)).not.toEqual([]);
  });
});

describe('every command that asks the API', () => {
  beforeEach(() => {
    api.on(
      '*',
      problem(403, 'scope_missing', 'This token lacks the scope admin. It is "ops" with none.'),
    );
  });

  test.each(asking)(
    '%s tells a refusal on stderr, with code, hint and request id',
    async (path, call) => {
      const { stderr } = await ends(
        run(wordsOf(path, call), { env: api.env, stdin: path === 'login' ? `${api.token}\n` : '' }),
        4,
      );
      expect(stderr).toBe(
        'error: this token lacks the scope admin (403 scope_missing)\n' +
          '  It is "ops" with none.\n' +
          '  svcctl tokens create --name NAME --preset admin\n' +
          '  request req_1\n',
      );
    },
  );

  test.each(asking)('%s says what to do when no service is known', async (path, call) => {
    if (path === 'login') return;
    await ends(run(wordsOf(path, call)), 4, ['(token_missing)', 'svcctl login --url']);
  });

  const withJson = asking.filter(([, [, json]]) => json);
  test.each(withJson)(
    '%s --json tells a refusal as one JSON object on stderr',
    async (path, call) => {
      const { stderr } = await ends(run([...wordsOf(path, call), '--json'], { env: api.env }), 4);
      expect(JSON.parse(stderr)).toEqual({
        code: 'scope_missing',
        detail: 'This token lacks the scope admin. It is "ops" with none.',
        status: 403,
        request_id: 'req_1',
        errors: [],
      });
    },
  );
});

describe('every command with --json', () => {
  const withJson = Object.entries(calls).filter(([, [, json]]) => json);

  test.each(withJson)(
    '%s prints valid JSON and nothing else on stdout, also when empty',
    async (path, call) => {
      api.on('*', pages([]));
      api.on('GET /me', json(me));
      api.on('POST /tokens', json({ id: 'tok_1', ...me, token: 'svc_x' }, 201));
      const taken = { accepted: 0, duplicates: 0, rejected: [], rejected_count: 0 };
      api.on('POST /enrichment/records', json(taken));
      api.on('POST /incidents', json({ ...taken, deliveries: [] }));
      api.on('POST /webhook/endpoints/ep_1/replay', json({ count: 0, notes: [] }));
      const outcome = { status: 204, failure_class: null, duration_ms: 1 };
      api.on('POST /webhook/endpoints/ep_1/ping', json({ id: 'dlv_1', outcome }));
      const made = { id: '1', tenant: 'T', dataset: 'training', count: 0, bytes: 0 };
      api.on('POST /enrichment/tags', json({ ...made, warnings: [] }, 201));
      api.on(
        'POST /enrichment/dataset-versions',
        json({ ...made, state: 'ready', warnings: [] }, 201),
      );
      const verdict = { ok: true, entries: 0, head: `0:${'0'.repeat(64)}`, pruned_place: 0 };
      api.on('POST /audit/verify', json({ ...verdict, problem_count: 0, problems: [] }));
      const words = [...wordsOf(path, call), '--json'];
      const env = path === 'config' ? {} : api.env;
      for (const isTerminal of [false, true]) {
        const { code, stdout } = await run(words, { env, isTerminal });
        expect(code).toBe(0);
        expect(Array.isArray(JSON.parse(stdout))).toBe(call[1] === 'array');
      }
    },
  );

  test('an unknown field is a usage error, before anything is asked', async () => {
    const { code, stderr } = await run(['records', 'ls', '--json', 'tenant,cuont'], {
      env: api.env,
    });
    expect(code).toBe(2);
    expect(JSON.parse(stderr).detail).toContain(
      'there is no field "cuont". There are: tenant, store',
    );
    expect(api.requests).toEqual([]);
  });
});

test('the help of the program says of commands that are not loaded what they would say', async () => {
  const loaded = (await programTree()).configureHelp({});
  const unloaded = await programTree([]);
  expect(unloaded.helpInformation()).toBe(loaded.helpInformation());
  expect(unloaded.commands.flatMap(({ commands }) => commands)).toEqual([]);
});

test('help is wrapped by the width of the terminal alone', async () => {
  const texts = (command: Command): string[] => [
    command.description(),
    ...command.commands.flatMap(texts),
  ];
  const broken = texts(await programTree()).filter((text) => /[^\n]\n[^\n]/.test(text));
  expect(broken).toEqual([]);
});

test('svcctl alone prints its help and ends well', async () => {
  const { code, stdout } = await run([]);
  expect(code).toBe(0);
  expect(stdout).toContain('Usage: svcctl');
});

test('a noun without a verb prints its help on stderr and ends with 2', async () => {
  const { stdout, stderr } = await ends(run(['records']), 2);
  expect(stdout + stderr).toContain('ingest');
});

test('an unknown command is answered with the nearest one', async () => {
  await ends(run(['record', 'ls']), 2, ['Did you mean records?']);
});

test('help and the words of a command print its help; help of nothing known is an error', async () => {
  const { stdout } = await run(['dlq', 'ls', '--help']);
  expect(stdout).toContain('Usage: svcctl dlq ls');
  expect(await run(['help', 'dlq', 'ls'])).toMatchObject({ code: 0, stdout, stderr: '' });
  expect((await run(['help', 'dlq'])).stdout).toContain('Usage: svcctl dlq');
  expect((await run(['help'])).stdout).toContain('Usage: svcctl [');
  for (const words of [['nosuch'], ['dlq', 'nosuch']]) {
    await ends(run(['help', ...words]), 2, ["unknown command 'nosuch'"]);
  }
});

test('--version prints the version of package.json', async () => {
  const { code, stdout } = await run(['--version']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

function programTree(words?: string[]): Promise<Command> {
  return createProgram({ io: { stdout: {}, stderr: {} } } as never, {
    help: { writeOut: () => {}, writeErr: () => {} },
    ...(words && { words }),
  });
}

function leaves(command: Command, path: string[] = []): string[] {
  if (command.commands.length === 0) return [path.join(' ')];
  return command.commands.flatMap((child) => leaves(child, [...path, child.name()]));
}
