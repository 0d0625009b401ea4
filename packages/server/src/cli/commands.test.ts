import type { Command } from 'commander';
import { beforeEach, describe, expect, test } from 'vitest';
import { createProgram } from './program.ts';
import { useReceiver } from './testing/prepare-cli.ts';
import { json, pages, problem } from './testing/receiver.ts';
import { run } from './testing/run.ts';

/** Every command: how it is called, and whether it asks the API. */
const calls: Record<
  string,
  { argv: string[]; asksApi?: boolean; json?: 'array' | 'object'; stdin?: string }
> = {
  'records ls': { argv: [], asksApi: true, json: 'array' },
  'records show': { argv: ['--tenant', 'T'], asksApi: true, json: 'array' },
  'records ingest': { argv: ['-'], asksApi: true, json: 'object' },
  'records erase': {
    argv: ['--tenant', 'T', '--event-id', 'E', '--dry-run'],
    asksApi: true,
    json: 'object',
  },
  'analytics export': { argv: ['--tenant', 'T', '--month', '2026-03'], asksApi: true },
  'records tags ls': { argv: [], asksApi: true, json: 'array' },
  'records tags add': {
    argv: ['--tenant', 'T', '--dataset', 'training'],
    asksApi: true,
    json: 'object',
  },
  'records tags rm': { argv: ['tag_1'], asksApi: true },
  'records versions ls': { argv: [], asksApi: true, json: 'array' },
  'records versions show': { argv: ['ver_1'], asksApi: true, json: 'object' },
  'records versions create': {
    argv: ['--tenant', 'T', '--dataset', 'training', '--name', 'N'],
    asksApi: true,
    json: 'object',
  },
  'records versions rm': { argv: ['ver_1', '--yes'], asksApi: true },
  'exports ls': { argv: [], asksApi: true, json: 'array' },
  'exports show': { argv: ['exp_1'], asksApi: true, json: 'object' },
  'exports get': { argv: ['exp_1'], asksApi: true },
  'exports cancel': { argv: ['exp_1'], asksApi: true },
  // What it prints is about a real file: see exports/verify.db.test.ts.
  'exports verify': { argv: ['exp_1'], asksApi: true },
  'tokens create': { argv: ['--name', 'N', '--preset', 'pipeline'], asksApi: true, json: 'object' },
  'tokens ls': { argv: [], asksApi: true, json: 'array' },
  'audit ls': { argv: [], asksApi: true, json: 'array' },
  'audit export': { argv: [], asksApi: true },
  'audit verify': { argv: [], asksApi: true, json: 'object' },
  status: { argv: [], asksApi: true, json: 'object' },
  ps: { argv: [], asksApi: true, json: 'array' },
  doctor: { argv: [], asksApi: true, json: 'array' },
  'tokens revoke': { argv: ['tok_1', '--yes'], asksApi: true },
  'retention plan': { argv: [], asksApi: true, json: 'array' },
  'retention run': { argv: ['--yes'], asksApi: true },
  'retention adopt-store': { argv: ['--yes'], asksApi: true },
  'retention orphans ls': { argv: [], asksApi: true, json: 'array' },
  'retention orphans adopt': { argv: ['records/a', '--yes'], asksApi: true },
  'retention orphans rm': { argv: ['records/a', '--yes'], asksApi: true },
  'retention forget': { argv: ['records/a', '--yes'], asksApi: true },
  'retention moves': { argv: [], asksApi: true, json: 'array' },
  'retention move': { argv: ['mv_1'], asksApi: true, json: 'object' },
  'retention segments': { argv: ['--live'], asksApi: true, json: 'array' },
  'retention verify': { argv: [], asksApi: true, json: 'object' },
  'retention policy ls': { argv: [], asksApi: true, json: 'array' },
  'retention policy show': { argv: ['T'], asksApi: true, json: 'object' },
  'retention policy set': { argv: ['T', '--hot-days', '3'], asksApi: true, json: 'object' },
  'retention policy rm': { argv: ['T', '--yes'], asksApi: true },
  'dlq ls': { argv: ['--status', 'pending'], asksApi: true, json: 'array' },
  'dlq show': { argv: ['dlv_1'], asksApi: true, json: 'object' },
  'dlq retry': { argv: ['dlv_1'], asksApi: true, json: 'array' },
  'dlq retries': { argv: [], asksApi: true, json: 'array' },
  'dlq pause': { argv: ['rty_1'], asksApi: true },
  'dlq resume': { argv: ['rty_1'], asksApi: true },
  'dlq cancel': { argv: ['rty_1'], asksApi: true },
  'dlq groups': { argv: ['--status', 'abandoned'], asksApi: true, json: 'array' },
  'dlq purge': { argv: ['dlv_1', '--yes'], asksApi: true },
  'endpoints ls': { argv: [], asksApi: true, json: 'array' },
  'endpoints show': { argv: ['ep_1'], asksApi: true, json: 'object' },
  'endpoints create': {
    argv: ['--tenant', 'T', '--url', 'https://x.example/'],
    asksApi: true,
    json: 'object',
  },
  'endpoints change': { argv: ['ep_1', '--description', 'D'], asksApi: true, json: 'object' },
  'endpoints enable': { argv: ['ep_1'], asksApi: true },
  'endpoints disable': { argv: ['ep_1'], asksApi: true },
  'endpoints delete': { argv: ['ep_1', '--yes'], asksApi: true },
  'endpoints rotate-secret': { argv: ['ep_1', '--yes'], asksApi: true, json: 'object' },
  'endpoints ping': { argv: ['ep_1'], asksApi: true, json: 'object' },
  'notify add': { argv: ['--webhook', 'https://x.example/'], asksApi: true, json: 'object' },
  'notify ls': { argv: [], asksApi: true, json: 'array' },
  'notify change': { argv: ['ntt_1', '--off'], asksApi: true },
  'notify rm': { argv: ['ntt_1', '--yes'], asksApi: true },
  'notify test': { argv: ['ntt_1'], asksApi: true },
  'notify log': { argv: [], asksApi: true, json: 'array' },
  'incidents send': { argv: ['--tenant', 'T', '--type', 'a.b'], asksApi: true, json: 'object' },
  'incidents ls': { argv: [], asksApi: true, json: 'array' },
  'incidents erase': { argv: ['inc_1', '--yes'], asksApi: true, json: 'object' },
  'incidents show': { argv: ['inc_1'], asksApi: true, json: 'object' },
  'deliveries ls': { argv: [], asksApi: true, json: 'array' },
  // What they do is tested on a database: see backup/ and e2e/slow/backup.test.ts.
  'backup verify': { argv: ['/b'] },
  'backup ls': { argv: ['/b'] },
  restore: { argv: ['/b'] },
  serve: { argv: [] },
  demo: { argv: [] },
  drain: { argv: [] },
  // What they do is tested on a database: see app/keys.db.test.ts.
  'keys ls': { argv: [] },
  'keys rotate': { argv: ['--yes'] },
  'records recount': { argv: ['--yes'] },
  // What it does is tested on a cluster, by npm run test:citus.
  'database distribute': { argv: ['--dry-run'] },
  listen: { argv: [] },
  login: { argv: [], asksApi: true },
  logout: { argv: [] },
  whoami: { argv: [], asksApi: true, json: 'object' },
  config: { argv: [], json: 'array' },
  version: { argv: [], json: 'object' },
  completion: { argv: ['bash'] },
  __complete: { argv: ['tenant'] },
};

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
    const { code, stdout, stderr } = await run([...path.split(' '), '--helpp']);
    expect(code).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toContain(
      "error: unknown option '--helpp' (usage_invalid)\n  Did you mean --help?",
    );
    expect(stderr).toContain(`See: svcctl ${path} --help`);
  });
});

const asking = Object.entries(calls).filter(([, call]) => call.asksApi);

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
      const { code, stdout, stderr } = await run([...path.split(' '), ...call.argv], {
        env: api.env,
        stdin: path === 'login' ? `${api.token}\n` : '',
      });
      expect({ code, stdout }).toEqual({ code: 4, stdout: '' });
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
    const { code, stdout, stderr } = await run([...path.split(' '), ...call.argv]);
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' });
    expect(stderr).toContain('(token_missing)');
    expect(stderr).toContain('svcctl login --url');
  });

  const withJson = asking.filter(([, call]) => call.json);
  test.each(withJson)(
    '%s --json tells a refusal as one JSON object on stderr',
    async (path, call) => {
      const { code, stdout, stderr } = await run([...path.split(' '), ...call.argv, '--json'], {
        env: api.env,
      });
      expect({ code, stdout }).toEqual({ code: 4, stdout: '' });
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
  const withJson = Object.entries(calls).filter(([, call]) => call.json);

  test.each(withJson)(
    '%s prints valid JSON and nothing else on stdout, also when empty',
    async (path, call) => {
      api.on('*', pages([]));
      api.on('GET /me', json(me));
      api.on('POST /tokens', json({ id: 'tok_1', ...me, token: 'svc_x' }, 201));
      api.on(
        'POST /enrichment/records',
        json({ accepted: 0, duplicates: 0, rejected: [], rejected_count: 0 }),
      );
      const made = { id: '1', tenant: 'T', dataset: 'training', count: 0, bytes: 0 };
      api.on('POST /enrichment/tags', json({ ...made, warnings: [] }, 201));
      api.on('POST /enrichment/dataset-versions', json({ ...made, state: 'ready' }, 201));
      const verdict = { ok: true, entries: 0, head: `0:${'0'.repeat(64)}`, pruned_place: 0 };
      api.on('POST /audit/verify', json({ ...verdict, problem_count: 0, problems: [] }));
      const words = [...path.split(' '), ...call.argv, '--json'];
      const env = path === 'config' ? {} : api.env;
      for (const isTerminal of [false, true]) {
        const { code, stdout } = await run(words, { env, isTerminal });
        expect(code).toBe(0);
        expect(Array.isArray(JSON.parse(stdout))).toBe(call.json === 'array');
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
  const { code, stdout, stderr } = await run(['records']);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stdout + stderr).toContain('ingest');
});

test('an unknown command is answered with the nearest one', async () => {
  const { code, stderr } = await run(['record', 'ls']);
  expect(code).toBe(2);
  expect(stderr).toContain('Did you mean records?');
});

test('help and the words of a command print its help; help of nothing known is an error', async () => {
  const { stdout } = await run(['dlq', 'ls', '--help']);
  expect(stdout).toContain('Usage: svcctl dlq ls');
  expect(await run(['help', 'dlq', 'ls'])).toMatchObject({ code: 0, stdout, stderr: '' });
  expect((await run(['help', 'dlq'])).stdout).toContain('Usage: svcctl dlq');
  expect((await run(['help'])).stdout).toContain('Usage: svcctl [');
  for (const words of [['nosuch'], ['dlq', 'nosuch']]) {
    const unknown = await run(['help', ...words]);
    expect(unknown).toMatchObject({ code: 2, stdout: '' });
    expect(unknown.stderr).toContain("unknown command 'nosuch'");
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

test('serve names a setting that is wrong, with exit 2, before it starts anything', async () => {
  const { code, stdout, stderr } = await run(['serve'], { env: { SVC_PORTT: '1' } });
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain('SVC_PORTT: no such setting (settings_invalid)');
});

test('database distribute says what it takes where there is no cluster', async () => {
  const { code, stdout, stderr } = await run(['database', 'distribute', '--dry-run']);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain('(database_unusable)');
  expect(stderr).toContain('Set DATABASE_URL to the coordinator of a Citus cluster');
});
