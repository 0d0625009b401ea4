import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { listFindings } from './lib/axe.ts';
import { confirm, drawerOf, recordRows as rowsOf, useConsole } from './lib/browser.ts';
import { startFilled } from './lib/filled-service.ts';
import { quietRetention } from './lib/retention.ts';

const filled = useConsole(() => startFilled({ ...quietRetention, SVC_FOUR_EYES: 'erase' }));

/** The first answer to what asks for the token once more, and that of a call which waits for somebody else. */
const refused = /403 \(Forbidden\)/;

const slice = { tenant: 'CA', store: 'AUS', from: '2001-02-01', to: '2001-02-28' };

async function countOf(): Promise<number> {
  const answer = await filled.service.call('GET', '/enrichment/datasets?tenant=CA&store=AUS');
  return (answer.json.data as { count: number }[]).reduce((sum, { count }) => sum + count, 0);
}

/** A token that no other has made. */
async function makeOther(): Promise<string> {
  const { installation } = filled;
  const args = ['tokens', 'create', '--local', '--name', 'Bea', '--preset', 'admin'];
  const made = await installation.run(args, { SVC_DATA_DIR: installation.dataDir });
  return /svc_\w+/.exec(made.output)?.[0] ?? '';
}

const button = (page: Page, name: string) =>
  drawerOf(page).getByRole('button', { name, exact: true });

test('what somebody else has asked for is looked at, confirmed and done', async () => {
  const { service } = filled;
  const before = await countOf();
  const token = await makeOther();
  const asked = await service.call('POST', '/enrichment/erase', { token, body: slice });
  expect(asked.json.code).toBe('approval_required');
  const page = await filled.openList('/access?view=approvals', { expected: [refused] });
  await rowsOf(page).filter({ hasText: 'Erases 200 records of CA, store AUS' }).click();
  await drawerOf(page).getByText('"store": "AUS"').waitFor();
  await button(page, 'Confirm').click();
  const question = page.getByRole('dialog', { name: 'Do it now?' });
  await question.getByText('Bea asked for it').waitFor();
  expect(await listFindings(page)).toEqual([]);
  await question.getByRole('button', { name: 'Confirm' }).click();
  await confirm(page, service.token);
  await drawerOf(page).getByText('confirmed', { exact: true }).waitFor();
  expect(await countOf()).toBe(before - 200);
});

test('who asks is told what happens next, and can withdraw it', async () => {
  const { service } = filled;
  const before = await countOf();
  const page = await filled.open('/records?tenant=CA&store=AUS&month=2001-03&panel=erase', {
    expected: [refused],
  });
  await drawerOf(page).getByText('would go, for good').waitFor();
  await drawerOf(page)
    .getByLabel(/^Type .* to confirm/)
    .fill('CA/AUS/2001-03');
  await drawerOf(page)
    .getByRole('button', { name: /^ERASE/ })
    .click();
  await confirm(page, service.token);
  const told = page.getByRole('dialog', { name: 'Somebody else must confirm this' });
  await told.getByText('Nothing was done yet. Erases 200 records').waitFor();
  expect(await listFindings(page)).toEqual([]);
  await told.getByRole('link', { name: 'Look at what waits' }).click();
  await rowsOf(page).filter({ hasText: '(you)' }).click();
  expect(await button(page, 'Confirm').count()).toBe(0);
  await button(page, 'Withdraw').click();
  await drawerOf(page).getByText('rejected', { exact: true }).waitFor();
  expect(await countOf()).toBe(before);
});
