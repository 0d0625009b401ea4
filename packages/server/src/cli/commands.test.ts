import type { Command, Option } from 'commander';
import { beforeEach, describe, expect, test } from 'vitest';
import { apiContract } from '../contract.ts';
import { fieldsOf } from './fields.ts';
import { createProgram, describedAt } from './program.ts';
import { fieldNames } from './sent-fields.ts';
import { useReceiver } from './testing/prepare-cli.ts';
import { json, pages, problem } from './testing/receiver.ts';
import { ends, run } from './testing/run.ts';
import type { WithAnswers } from './verb.ts';

/** The words after the name of a command that what it says of itself does not suffice to find. */
const ownWords: Readonly<Record<string, string>> = {
  'records tail': '--tenant T --no-follow',
  'records ingest': '-',
  'records lint': '- --remote',
  'records erase': '--tenant T --event-id E --dry-run',
  'records versions diff': 'x y',
  'records versions bundle': 'x --dir /nowhere/bundle',
  'records tags add': '--tenant T --dataset training',
  'analytics export': '--tenant T --month 2026-03 --out /nowhere/x',
  'exports get': 'x --out /nowhere/x',
  'exports verify': 'x',
  'tokens create': '--name N --preset pipeline',
  'retention policy set': 'x --hot-days 3',
  'dlq retry': 'x',
  'dlq purge': '--all --yes',
  'endpoints create': '--tenant T --url https://x.example/',
  'endpoints change': 'x --description D',
  'endpoints enable': 'x',
  'endpoints poll': 'x --once',
  'endpoints replay': 'x --since 2h --dry-run',
  'endpoints test-filter': '--tenant T',
  'schedules change': 'x --cron x',
  'notify add': '--webhook https://x.example/',
  'notify change': 'x --off',
  'incidents report': '--file -',
};
/** Those that do not ask the API, or look at files first. What they do is tested beside them, or on a database. */
const local = [
  ...['backup verify', 'backup ls', 'restore', 'serve', 'demo', 'drain', 'migrate', 'version'],
  ...[
    'keys ls',
    'keys rotate',
    'audit reseal',
    'records recount',
    'records import',
    'database distribute',
  ],
  ...['apply', 'webhooks import', 'listen', 'logout', 'config', 'completion', '__complete'],
  ...['profile ls', 'profile use', 'profile show', 'profile rm'],
];
/** Those of them that print what is there without a service. */
const ofProfiles = ['profile ls', 'profile show'];
/** Those of which --json prints what a service with data answers: see the tests beside them. */
const needingData = [
  ...['records lint', 'analytics export', 'exports get', 'exports verify', 'notify test'],
  ...['retention run', 'retention adopt-store', 'retention orphans adopt', 'retention forget'],
  'dlq purge',
];

/** A command, and the words that it is called with at least. */
type Call = { readonly command: Command; readonly words: readonly string[] };
const calls = leaves(await programTree()).map(([path, command]): [path: string, call: Call] => {
  const words = ownWords[path]?.split(' ') ?? leastWords(command);
  return [path, { command, words: [...path.split(' '), ...words] }];
});
const asking = calls.filter(([path]) => !local.includes(path));

function leastWords(command: Command): string[] {
  return [
    ...command.registeredArguments.flatMap(({ required, argChoices = ['x'] }) =>
      required ? argChoices.slice(0, 1) : [],
    ),
    ...command.options
      .filter(isNeeded)
      .flatMap(({ long, argChoices: [word = 'T'] = [] }) => [long ?? '', word]),
    ...(optionOf(command, '--yes') ? ['--yes'] : []),
  ];
}

function isNeeded({ description }: Option): boolean {
  return description.endsWith('(required)');
}

function optionOf({ options }: Command, name: string): Option | undefined {
  return options.find(({ long }) => long === name);
}

const me = { name: 'ops laptop', scopes: ['admin'], tenants: null, expires_at: null };
const api = useReceiver();

describe('every command', () => {
  test.each(calls)('%s has help with an example, on stdout', async (path) => {
    const { code, stdout, stderr } = await run([...path.split(' '), '--help']);
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`Examples:\n(.*\n)*? +\\$ .*svcctl .*${path}`));
    expect(stderr).toBe('');
  });

  test.each(calls)('%s refuses an unknown option with exit 2', async (path) => {
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

  test.each(calls)('%s: its options are what its route takes', async (path) => {
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

  test.each(calls)('%s: it knows the fields of its --json', async (_path, { command }) => {
    const json: WithAnswers | undefined = optionOf(command, '--json');
    if (json?.optional) expect(await fieldsOf(json.answers)).not.toEqual([]);
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
    async (path, { words }) => {
      const stdin = path === 'login' ? `${api.token}\n` : '';
      const { stderr } = await ends(run(words, { env: api.env, stdin }), 4);
      expect(stderr).toBe(
        'error: this token lacks the scope admin (403 scope_missing)\n' +
          '  It is "ops" with none.\n' +
          '  svcctl tokens create --name NAME --preset admin\n' +
          '  request req_1\n',
      );
    },
  );

  test.each(asking)('%s says what to do when no service is known', async (path, { words }) => {
    if (path === 'login') return;
    await ends(run(words), 4, ['(token_missing)', 'svcctl login --url']);
  });

  test.each(asking.filter(([, { command }]) => optionOf(command, '--json')))(
    '%s --json tells a refusal as one JSON object on stderr',
    async (_path, { words }) => {
      const { stderr } = await ends(run([...words, '--json'], { env: api.env }), 4);
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
  const ofNothing = calls.filter(
    ([path, { command }]) =>
      optionOf(command, '--json') &&
      !needingData.includes(path) &&
      (!local.includes(path) || ofProfiles.includes(path)),
  );
  test.each(ofNothing)(
    '%s prints valid JSON and nothing else on stdout, also when empty',
    async (path, { command, words }) => {
      api.on('*', pages([]));
      api.on('GET /me', json(me));
      api.on('GET /tokens', pages(['{"id":"x"}']));
      api.on('POST /tokens', json({ id: 'tok_1', ...me, token: 'svc_x' }, 201));
      const taken = { accepted: 0, duplicates: 0, rejected: [], rejected_count: 0 };
      api.on('POST /enrichment/records', json(taken));
      api.on('POST /incidents', json({ ...taken, deliveries: [] }));
      api.on('POST /webhook/endpoints/x/replay', json({ count: 0, notes: [] }));
      const outcome = { status: 204, failure_class: null, duration_ms: 1 };
      api.on('POST /webhook/endpoints/x/ping', json({ id: 'dlv_1', outcome }));
      const made = { id: '1', tenant: 'T', dataset: 'training', count: 0, bytes: 0 };
      api.on('POST /enrichment/tags', json({ ...made, warnings: [] }, 201));
      api.on(
        'POST /enrichment/dataset-versions',
        json({ ...made, state: 'ready', warnings: [] }, 201),
      );
      const verdict = { ok: true, entries: 0, head: `0:${'0'.repeat(64)}`, pruned_place: 0 };
      api.on('POST /audit/verify', json({ ...verdict, problem_count: 0, problems: [] }));
      const isList =
        ['--output', '--ndjson'].some((name) => optionOf(command, name)) || path === 'dlq retry';
      for (const isTerminal of [false, true]) {
        const { code, stdout } = await run([...words, '--json'], { env: api.env, isTerminal });
        expect(code).toBe(0);
        expect(Array.isArray(JSON.parse(stdout))).toBe(isList);
      }
    },
  );

  test('an unknown field is told with those that there are', async () => {
    const { code, stderr } = await run(['records', 'ls', '--json', 'tenant,cuont'], {
      env: api.env,
    });
    expect(code).toBe(2);
    expect(JSON.parse(stderr).detail).toContain(
      'there is no field "cuont". There are: tenant, store',
    );
  });
});

describe('what is a usage error of every command that asks the API, before anything is asked', () => {
  test.each(asking)('%s --json of a field that it has not', async (_path, { command, words }) => {
    if (!optionOf(command, '--json')?.optional) return;
    await refuses([...words, '--json', 'nothing'], '--json: there is no field');
  });

  test.each(asking)('%s without what it needs', async (path, { command, words }) => {
    for (const { long } of command.options.filter(isNeeded)) {
      await refuses(words.toSpliced(words.indexOf(long ?? ''), 2), `${long} is missing`);
    }
    if (command.registeredArguments[0]?.required) {
      await refuses(path.split(' '), 'missing required argument');
    }
  });

  test.each(asking)('%s with a word that it does not know', async (_path, { command, words }) => {
    for (const { flags, long, argChoices } of command.options) {
      if (argChoices === undefined) continue;
      await refuses(
        [...words, long ?? '', 'nothing'],
        `option '${flags}' argument 'nothing' is invalid`,
      );
    }
  });

  // These look first what there is to ask about.
  const looking = ['records versions rm', 'retention policy rm', 'retention adopt-store'];
  const confirmed = asking.filter(
    ([path, { words }]) => words.includes('--yes') && ![...looking, 'retention run'].includes(path),
  );
  test.each(confirmed)('%s without --yes where there is no terminal', async (_path, { words }) => {
    await refuses(words.slice(0, -1), 'without asking: --yes');
  });

  async function refuses(words: readonly string[], message: string): Promise<void> {
    await ends(run(words, { env: api.env }), 2, [message]);
    expect(api.requests).toEqual([]);
  }
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

function leaves(command: Command, path: string[] = []): [path: string, command: Command][] {
  if (command.commands.length === 0) return [[path.join(' '), command]];
  return command.commands.flatMap((child) => leaves(child, [...path, child.name()]));
}
