import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { prepareCli } from '../testing/prepare-cli.ts';
import { inTurn, json, noContent, problem } from '../testing/receiver.ts';
import { ends, useFolder } from '../testing/run.ts';

const folder = useFolder();
const { api, cli, sent } = prepareCli(folder);

test.each([
  ['is busy', problem(503, 'not_ready', 'Starting.'), 0],
  ['is gone meanwhile', problem(404, 'token_not_found', 'There is no such token.'), 3],
])('one token takes the place of another whose end %s, and is told', async (_how, first, code) => {
  await writeFile(join(folder.path, 'a.yaml'), 'tokens: [{name: a, scopes: [admin]}]');
  const held = { id: 'tok_1', name: 'a', scopes: ['incidents:write'], tenants: null };
  api.on('GET /tokens', json({ data: [{ ...held, creator: { id: 'tok_0' } }], next_cursor: null }));
  api.on('POST /tokens', inTurn({ token: 'svc_new' }, { token: 'svc_another' }));
  let ended = 0;
  api.on('DELETE /tokens/tok_1', (request, response) => {
    ended += 1;
    (ended === 1 ? first : noContent)(request, response);
  });
  await ends(cli('apply a.yaml --yes'), code, 'token a\tsvc_new\n');
  expect(sent('POST', '/tokens')).toHaveLength(1);
});
