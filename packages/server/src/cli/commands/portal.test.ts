import { expect, test } from 'vitest';
import { answerOf, rowOf } from '../testing/answers.ts';
import { prepareCli } from '../testing/prepare-cli.ts';
import { json, pages, problem } from '../testing/receiver.ts';
import { ends } from '../testing/run.ts';

const { api, cli, sent } = prepareCli();
const path = '/webhook/portal-links';

test('portal link prints the link alone, and asks for what its options say', async () => {
  const url = 'http://127.0.0.1:8080/portal#/open?code=c';
  api.on(`POST ${path}`, json(answerOf('POST /webhook/portal-links', { id: 'plk_1', url })));
  const { stdout, stderr } = await cli('portal link TX --for jo --minutes 15 --read-only');
  expect(stdout).toBe(`${url}\n`);
  expect(stderr).toContain('Made plk_1 for TX. It opens once');
  await cli('portal link TX');
  expect(sent('POST', path)).toEqual([
    { tenant: 'TX', subject: 'jo', seconds: 900, scope: 'webhooks:read' },
    { tenant: 'TX', seconds: 3600, scope: 'webhooks:manage' },
  ]);
});

test('portal ls lists what each link may, and portal revoke ends one', async () => {
  const link = {
    id: 'plk_1',
    tenant: 'TX',
    subject: 'jo',
    state: 'open',
    scope: 'webhooks:read',
  } as const;
  api.on(`GET ${path}`, pages([JSON.stringify(rowOf('GET /webhook/portal-links', link))]));
  const { stdout } = await cli('portal ls --tenant TX', { isTerminal: true });
  expect(stdout).toMatch(/plk_1 +TX +jo +open +look /);
  expect(api.requests[0]?.query).toMatchObject({ tenant: 'TX' });
  api.on(`DELETE ${path}/plk_1`, json({}));
  expect(await cli('portal revoke plk_1')).toMatchObject({ code: 0, stderr: 'Ended plk_1.\n' });
  const gone = problem(404, 'portal_link_not_found', 'There is no such link.');
  api.on(`DELETE ${path}/plk_2`, gone);
  await ends(cli('portal revoke plk_2'), 3, ['there is no such link (404 portal_link_not_found)']);
});
