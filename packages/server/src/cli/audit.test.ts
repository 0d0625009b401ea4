import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { json, pages, type Receiver, startReceiver } from './testing/receiver.ts';
import { run } from './testing/run.ts';

let api: Receiver;
beforeAll(async () => {
  api = await startReceiver();
});
afterEach(() => api.reset());
afterAll(() => api.close());

const entry = {
  id: '7',
  at: '2026-03-05T11:59:00.000000Z',
  actor: { token_id: 'tok_1', name: 'ops' },
  action: 'token.revoke',
  target: 'tok_2',
  tenant: null,
  tenants: null,
  request_id: 'req_1',
  address: '127.0.0.1',
  user_agent: 'node',
  before: { name: 'old', scopes: ['admin'] },
  after: null,
};
const audit = (argv: string[], isTerminal = false) =>
  run(['audit', 'ls', ...argv], { env: { ...api.env, NO_COLOR: '1' }, isTerminal });

test.each([
  [['--from', '2026-03-01'], '--from and --to need each other'],
  [['--from', '2026-03-02', '--to', '2026-03-01'], '--from lies after --to'],
  [['--from', 'monday', '--to', '2026-03-01'], 'is not a date'],
  [['--limit', '0'], '--limit'],
  [['--json', 'nothing'], 'there is no field'],
])('audit ls %j is a usage error', async (argv, message) => {
  const { code, stdout, stderr } = await audit(argv);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain(message);
  expect(api.requests).toEqual([]);
});

test('audit ls asks with its filters and turns pages up to its limit', async () => {
  api.on('GET /audit', pages([JSON.stringify(entry)], [JSON.stringify(entry)], ['{"id":"1"}']));
  const argv = ['--actor', 'tok_1', '--action', 'token.', '--tenant', 'TX'];
  const days = ['--from', '2026-03-01', '--to', '2026-03-31'];
  const { code, stdout } = await audit([...argv, ...days, '--limit', '2', '--json', 'id,actor']);
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
  const shown = await audit(['--limit', '1'], true);
  expect(shown.stdout).toBe(
    'AT (UTC)             ACTOR  ACTION        TARGET  TENANT  FROM\n' +
      '2026-03-05 11:59:00  ops    token.revoke  tok_2   –       127.0.0.1\n',
  );
  expect(shown.stderr).toContain('1 entry · there are older ones: --limit');
  const piped = await audit([]);
  expect(piped).toMatchObject({
    stdout: '2026-03-05T11:59:00.000000Z\tops\ttoken.revoke\ttok_2\t\t127.0.0.1\n',
    stderr: '',
  });
  expect(api.requests[1]?.query).toEqual({ limit: '100' });
  expect(JSON.parse((await audit(['--json'])).stdout)).toEqual([entry]);
});

test('audit ls says when nothing matches, and prints valid JSON then', async () => {
  api.on('GET /audit', json({ data: [], next_cursor: null }));
  const { stdout, stderr } = await audit([], true);
  expect(stdout).toBe('');
  expect(stderr).toContain('No entries match.');
  expect((await audit(['--json'])).stdout).toBe('[]\n');
});
