import { expect, test } from 'vitest';
import { rowOf } from './testing/answers.ts';
import { useReceiver } from './testing/prepare-cli.ts';
import { json, pages } from './testing/receiver.ts';
import { ends, run, slowly } from './testing/run.ts';

const api = useReceiver();
const row = rowOf('GET /tokens', {
  id: 'tok_1',
  name: '=1+1, "x"',
  scopes: ['enrichment:read'],
  creator: { id: 'tok_0', name: 'boss' },
});
const cli = (line: string, options: { isTerminal?: boolean; columns?: number } = {}) => {
  const env = { ...api.env, NO_COLOR: '1' };
  api.on(
    'GET /tokens',
    json({ data: [row, { ...row, id: 'tok_2', name: 'b' }], next_cursor: null }),
  );
  return run(line.split(' '), { env, ...options });
};

test('-o csv has a header, plain values, quotes where they are due, and no formulas', async () => {
  await ends(
    cli('tokens ls -o csv'),
    0,
    'id,name,scopes,tenants,from,created,expires,last_used,made_by\n' +
      'tok_1,"\'=1+1, ""x""",enrichment:read,all,anywhere,2026-03-05T10:00:00.000000Z,,,boss\n' +
      'tok_2,b,enrichment:read,all,anywhere,2026-03-05T10:00:00.000000Z,,,boss\n',
  );
  await ends(cli('tokens ls -o csv --no-header'), 0, /^tok_1,/);
});

test('-o csv of nothing is its header', async () => {
  const asked = cli('tokens ls -o csv');
  api.on('GET /tokens', json({ data: [], next_cursor: null }));
  await ends(asked, 0, /^id,name[^\n]*\n$/);
});

test('-o json, ndjson and name are for programs, on a terminal too', async () => {
  const { stdout } = await cli('tokens ls -o json', { isTerminal: true });
  expect(JSON.parse(stdout)).toMatchObject([{ id: 'tok_1' }, { id: 'tok_2' }]);
  await ends(cli('tokens ls -o ndjson --json id'), 0, '{"id":"tok_1"}\n{"id":"tok_2"}\n');
  const { stderr } = await ends(
    cli('tokens ls -o name', { isTerminal: true }),
    0,
    'tok_1\ntok_2\n',
  );
  expect(stderr).toBe('');
});

test('-o table is aligned in a pipe, too, with titles unless --no-header', async () => {
  await ends(cli('tokens ls -o table'), 0, /^ID {5}NAME +SCOPES.*\ntok_1 {2}=1\+1, "x" {2}enr/);
  await ends(cli('tokens ls -o table --no-header'), 0, /^tok_1 /);
});

test('a narrow terminal is told which columns it does not show, and -o wide shows them', async () => {
  const narrow = { isTerminal: true, columns: 40 };
  const shown = { id: 'ep_1', tenant: 'TX', url: 'https://x.example/', event_types: ['a.b'] };
  const endpoint = { ...shown, enabled: false, backlog: { count: 0, oldest_created_at: null } };
  api.on('GET /webhook/endpoints', json({ data: [endpoint], next_cursor: null }));
  await ends(cli('endpoints ls', narrow), 0, [/not shown: EVENTS, NAME · all: -o wide/]);
  const { stderr } = await ends(cli('endpoints ls -o wide', narrow), 0, /EVENTS.*\n.*a\.b/);
  expect(stderr).not.toContain('not shown');
});

test('--json and another format exclude each other, and an unknown format is refused', async () => {
  await ends(cli('tokens ls -o csv --json id'), 2, ['"--json and -o csv exclude each other."']);
  await ends(cli('tokens ls -o yaml'), 2, ['Allowed choices are table, wide, json']);
  expect(api.requests).toEqual([]);
});

test('whoever asks for JSON by -o is told of failures in JSON', async () => {
  const asked = cli('tokens ls -o json');
  api.on('GET /tokens', json({}, 500));
  const { stderr } = await asked;
  expect(JSON.parse(stderr)).toMatchObject({ status: 500 });
});

test('a slow reader has what was printed before an interrupt', async () => {
  const interrupt = new AbortController();
  api.on('GET /tokens', pages([JSON.stringify(row)], [JSON.stringify(row)]));
  const onStdout = () => {
    interrupt.abort();
    return slowly();
  };
  const words = ['tokens', 'ls', '-o', 'name'];
  const options = { env: api.env, signal: interrupt.signal, onStdout };
  await ends(run(words, options), 130, 'tok_1\n');
});
