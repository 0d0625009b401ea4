import { expect, test } from 'vitest';
import { useReceiver } from './testing/prepare-cli.ts';
import { json } from './testing/receiver.ts';
import { ends, run } from './testing/run.ts';

const api = useReceiver();
const cli = (line: string) => run(line.split(' '), { env: api.env });
const none = json({ data: [], next_cursor: null, total: 0 });

test.each([
  ['tokens list', 'GET /tokens'],
  ['--profile none tokens list', 'GET /tokens'],
  ['exports list --status completed', 'GET /exports'],
  ['incidents get inc_1', 'GET /incidents/inc_1'],
  ['endpoints remove ep_1 --yes', 'DELETE /webhook/endpoints/ep_1'],
  ['tokens rm tok_1 --yes', 'DELETE /tokens/tok_1'],
  ['event-types create order.paid', 'PUT /webhook/event-types/order.paid'],
  ['retention policy change TX --hot-days 7', 'PUT /retention/policies/TX'],
])('%s is understood', async (line, route) => {
  api.on('*', none);
  await cli(line);
  expect(api.requests.map(({ method, path }) => `${method} ${path}`)).toContain(route);
});

test('--status and --state are one, whichever a command has, and with = too', async () => {
  for (const line of ['exports ls --status=completed', 'deliveries ls --state delivered']) {
    api.on('*', none);
    await ends(cli(line), 0);
  }
  const [exports, deliveries] = api.requests.map(({ query }) => query);
  expect([exports?.state, deliveries?.status]).toEqual(['completed', 'delivered']);
});

test.each([
  ['help jobs list', 0, 'Usage: svcctl jobs ls'],
  ['tokens rm --help', 0, 'Usage: svcctl tokens revoke'],
])('%s tells of the command itself', async (line, code, text) => {
  await ends(cli(line), code, new RegExp(text));
});

test.each([
  ['help nosuch', "unknown command 'nosuch'"],
  ['help jobs nosuch', "unknown command 'nosuch'"],
  ['records rm x', "unknown command 'rm'"],
  ['endpoints set ep_1', "unknown command 'set'"],
  ['tokens delet tok_1', "unknown command 'delet' (usage_invalid)\n  Did you mean revoke?"],
  ['event-types chang x', 'Did you mean set?'],
  ['tokens rm tok_1 --fast', 'See: svcctl tokens revoke --help'],
])('%s is refused', async (line, text) => {
  await ends(cli(line), 2, [text]);
});

test('what a value says is left as it is', async () => {
  api.on('GET /exports', none);
  await ends(cli('exports ls --tenant list'), 0);
  expect(api.requests[0]?.query.tenant).toBe('list');
});

test('--profile of a command is its style, and that of the program the connection', async () => {
  const line = 'analytics export --tenant TX --month 2001-02 --profile fancy';
  await ends(cli(line), 2, ["'--style <name>'", 'machine or spreadsheet']);
  await ends(cli(`--profile none ${line}`), 2, ["'--style <name>'"]);
  await ends(cli('--profile none analytics export --style'), 2, ["'--style <name>'"]);
});
