import { expect, test } from 'vitest';
import { answerOf } from '../testing/answers.ts';
import { prepareCli } from '../testing/prepare-cli.ts';
import { json } from '../testing/receiver.ts';
import { ends } from '../testing/run.ts';

const { api, cli, jsonOf } = prepareCli();

const row = answerOf('GET /approvals/:id', {
  id: 'apr_1',
  state: 'waiting',
  says: 'Erases 2 records of TX.',
  method: 'POST',
  path: '/enrichment/erase',
  body: { tenant: 'TX', event_ids: ['e1', 'e2'] },
  asked_by: { id: 'tok_1', name: 'ada' },
});

test('show prints the call, who asked for it, and how it went', async () => {
  api.on('GET /approvals/apr_1', json({ ...row, state: 'confirmed' }));
  const { stdout } = await cli('approvals show apr_1', { typed: '' });
  expect(stdout).toMatch(/^what +Erases 2 records of TX\.$/m);
  expect(stdout).toMatch(/^call +POST \/enrichment\/erase$/m);
  expect(stdout).toMatch(/^body +\{"tenant":"TX","event_ids":\["e1","e2"\]\}$/m);
  expect(stdout).toMatch(/^asked by +ada$/m);
  expect(stdout).toMatch(/^outcome +it runs, or broke off/m);
  expect(await jsonOf('approvals show apr_1')).toMatchObject({ id: 'apr_1', body: row.body });
});

test('confirm asks before it sends anything, and says that it is done', async () => {
  api.on('POST /approvals/apr_1/confirm', json({ erased: { count: 2 } }));
  const words = 'approvals confirm apr_1';
  await ends(cli(words), 2, ['Confirm without asking: --yes']);
  await ends(cli(words, { typed: 'n\n' }), 130, ['Confirm apr_1, so that it is done now? [y/N]']);
  expect(api.requests).toEqual([]);
  await ends(cli(words, { typed: 'y\n' }), 0, '', ['Confirmed apr_1. It is done, or under way.']);
  await ends(cli(`${words} --yes --json`), 0, /"erased":\{"count":2\}/);
});

test('reject asks nothing, and says that nothing was done', async () => {
  api.on('POST /approvals/apr_1/reject', json({ ...row, state: 'rejected' }));
  await ends(cli('approvals reject apr_1'), 0, '', ['Rejected apr_1. Nothing was done.']);
  expect(await jsonOf('approvals reject apr_1 --json')).toMatchObject({ state: 'rejected' });
});
