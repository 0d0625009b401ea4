import type { Page } from 'playwright-core';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { answer, useReceiver } from '../../packages/server/test/receiver.ts';
import { dialogPart, drawerPart, listFindings } from './lib/axe.ts';
import {
  confirm,
  confirmDialog,
  drawerOf,
  patient,
  recordRows as rowsOf,
  tabTo,
  useConsole,
} from './lib/browser.ts';
import { startFilled } from './lib/filled-service.ts';
import { quietRetention } from './lib/retention.ts';
import { holdBack } from './lib/weather.ts';

const filled = useConsole(() =>
  startFilled({
    ...quietRetention,
    SVC_ALLOW_TARGETS: '127.0.0.0/8',
    SVC_FOUR_EYES: 'erase,lift_hold',
  }),
);
const receiver = useReceiver();

/** The first answer to what asks for the access token once more, and that of a call which waits for somebody else. */
const stepUp = /403 \(Forbidden\)/;

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });

const entryOf = (page: Page, action: string) => rowsOf(page).filter({ hasText: action }).first();

test('a token is made for a colleague, who uses it, found in the log, and revoked', async () => {
  const { service } = filled;
  const page = await filled.openList('/access', { expected: [stepUp] });
  await button(page, 'New token').click();
  await drawerOf(page).getByLabel('Name').fill('Kim');
  await drawerOf(page).getByLabel('Tenants').fill('TX, CA');
  await button(page, 'Make the token').click();
  await confirm(page, service.token);
  const secret = drawerOf(page).locator('code').first();
  await expect.poll(() => secret.innerText(), patient).toMatch(/^svc_/);
  const token = await secret.innerText();
  await button(page, 'I have kept it').click();
  const row = rowsOf(page).filter({ hasText: 'Kim' });
  await row.getByText('support-readonly').waitFor();
  await row.getByText('TX, CA').waitFor();
  const slice = { tenant: 'TX', month: '2001-02' };
  const answer = await service.call('POST', '/exports/csv', { token, body: slice });
  expect(answer.status).toBe(200);

  await row.getByRole('button', { name: 'LOG of Kim' }).click();
  await entryOf(page, 'as csv').click();
  await drawerOf(page).getByText('place in the chain').waitFor();
  expect(await drawerOf(page).innerText()).toMatch(/Kim[\s\S]*127\.0\.0\.1/);
  const link = page.url();
  await button(page, 'TOKENS').click();
  await row.getByRole('button', { name: 'REVOKE… Kim' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke', exact: true }).click();
  await page.getByText('Revoked: Kim').waitFor();
  await row.waitFor({ state: 'detached' });
  expect((await service.call('GET', '/me', { token })).json.code).toBe('token_revoked');

  await page.goto('about:blank');
  await page.goto(link);
  await drawerOf(page).getByText('place in the chain').waitFor();
});

test('a token is made for some addresses alone, and given another secret', async () => {
  const { service } = filled;
  const page = await filled.openList('/access', { expected: [stepUp] });
  await button(page, 'New token').click();
  await drawerOf(page).getByLabel('Name').fill('Sam');
  await drawerOf(page).getByLabel('From').fill('127.0.0.0/8, 10.0.0.0/8');
  await button(page, 'Make the token').click();
  await confirm(page, service.token);
  const secret = drawerOf(page).locator('code').first();
  await expect.poll(() => secret.innerText(), patient).toMatch(/^svc_/);
  const before = await secret.innerText();
  await button(page, 'I have kept it').click();
  const row = rowsOf(page).filter({ hasText: 'Sam' });
  await row.getByText('127.0.0.0/8, 10.0.0.0/8').waitFor();

  await row.getByRole('button', { name: 'ROTATE Sam' }).click();
  await drawerOf(page).getByLabel('The old secret').selectOption('ends at once');
  await button(page, 'Rotate the token').click();
  await expect.poll(() => secret.innerText(), patient).toMatch(/^svc_/);
  const after = await secret.innerText();
  const codeOf = async (token: string) => (await service.call('GET', '/me', { token })).status;
  expect([await codeOf(before), await codeOf(after)]).toEqual([401, 200]);
});

test('RIGHTS shows which presets have a scope, also by another that includes it', async () => {
  const page = await filled.open('/access?view=rights');
  const cells = (row: string) =>
    page.getByRole('row', { name: row }).locator('th, td').allInnerTexts();
  const presets = ['support-readonly', 'viewer', 'pipeline', 'curator', 'on-call', 'webhooks'];
  expect((await cells('LETS A TOKEN')).slice(2)).toEqual([...presets, 'auditor', 'admin']);
  const reads = ['–', 'yes', '–', '–', 'yes', 'yes', '–', 'yes'];
  expect((await cells('incidents:read')).slice(2)).toEqual(reads);
});

test('a fault of a new token stands at its field', async () => {
  const page = await filled.openList('/access?panel=new-token', {
    expected: [stepUp, /400 \(Bad Request\)/],
  });
  await button(page, 'Make the token').click();
  await confirm(page, filled.service.token);
  await drawerOf(page).locator('[id$="-error"]').first().waitFor();
  expect(await drawerOf(page).getByLabel('Name').getAttribute('aria-invalid')).toBe('true');
});

test('a panel stays open until the secret is there that is shown in it', async () => {
  const page = await filled.openList('/access?panel=new-token', { expected: [stepUp] });
  await drawerOf(page).getByLabel('Name').fill('Lou');
  await button(page, 'Make the token').click();
  await confirmDialog(page).waitFor();
  const release = await holdBack(page, 'POST', '**/api/v1/tokens');
  await confirm(page, filled.service.token);
  await confirmDialog(page).waitFor({ state: 'detached' });
  await button(page, 'Close the new token').click();
  await page.getByText(/^Not closed/).waitFor();
  release();
  const secret = drawerOf(page).locator('code').first();
  await expect.poll(() => secret.innerText(), patient).toMatch(/^svc_/);
});

test('who revokes the token they signed in with, or the last that manages tokens, is told what follows', async () => {
  const { service } = filled;
  const page = await filled.openList('/access');
  const question = page.getByRole('dialog', { name: 'Revoke this token?' });
  const [own, last] = ['This is the token you signed in with', 'No token is left then'].map(
    (text) => question.getByText(text),
  );
  const ask = async (name: string) => {
    await button(page, `REVOKE… ${name}`).click();
    await question.getByText('stops working at once').waitFor();
    const told = [await own?.count(), await last?.count()];
    await question.getByRole('button', { name: 'Keep it' }).click();
    await question.waitFor({ state: 'detached' });
    return told;
  };
  expect(await ask('first admin')).toEqual([1, 1]);
  const body = { name: 'deputy', scopes: ['tokens:manage', 'audit:read'] };
  const { id } = (await service.call('POST', '/tokens', { body })).json;
  await page.reload();
  expect(await ask('deputy')).toEqual([0, 0]);
  expect(await ask('first admin')).toEqual([1, 0]);
  await service.call('DELETE', `/tokens/${id}`);
});

test('a session that is ended asks to sign in again, wherever it is', async () => {
  const { service } = filled;
  const { token } = (
    await service.call('POST', '/tokens', { body: { name: 'guest', preset: 'curator' } })
  ).json;
  // The other page may read again what it shows before it is loaded anew.
  const expected = [/401 \(Unauthorized\)/];
  const guest = await filled.open('/records', { token, expected });
  const page = await filled.openList('/access?view=sessions', { expected });
  await page.getByText('· this session').waitFor();
  await button(page, 'END the session of guest').click();
  await page.getByText('Session ended: guest').waitFor();
  await guest.reload();
  await guest.getByLabel('Access token').waitFor();

  await button(page, 'Sign out everywhere').click();
  await page.getByLabel('Access token').waitFor();
});

test('a link into the portal is made, copied once, listed and ended', async () => {
  const page = await filled.open('/access?view=portal', { expected: [stepUp] });
  await button(page, 'New link').click();
  await drawerOf(page).getByLabel('Tenant').fill('TX');
  await drawerOf(page).getByLabel('For').fill('jo');
  await button(page, 'Make the link').click();
  await confirm(page, filled.service.token);
  await drawerOf(page)
    .getByText(/\/portal#\/open\?code=/)
    .waitFor();
  await button(page, 'I have handed it on').click();
  const row = rowsOf(page).filter({ hasText: 'jo' });
  await row.getByText('not opened yet').waitFor();
  await button(page, 'END the link for jo of TX').click();
  await page.getByText('Link ended: jo of TX').waitFor();
  await row.getByText('ended').waitFor();
});

test('the log is verified, tells acts as sentences, and is filtered by act and text', async () => {
  const page = await filled.openList('/access?view=audit');
  await page.getByText('svcctl audit verify').waitFor();
  await button(page, 'Verify the log').click();
  await page.getByText('svcctl audit verify').waitFor({ state: 'detached' });
  await page.getByText(/^Chain verified, \d+ entries, at \d\d:\d\d:\d\d UTC$/).waitFor();
  await rowsOf(page)
    .first()
    .getByText(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/)
    .waitFor();
  await page.getByLabel('What', { exact: true }).selectOption('sign-ins and sessions');
  await rowsOf(page).filter({ hasText: 'the token' }).first().waitFor({ state: 'detached' });
  await entryOf(page, 'signed in').waitFor();
  await page.getByLabel('What', { exact: true }).selectOption('Any action');
  await page.getByLabel('Text in who, what or a detail').fill('FIRST ADMIN');
  await page.waitForURL(/text=FIRST/);
  await entryOf(page, 'made the token first admin').waitFor();
  await rowsOf(page).filter({ hasText: 'signed in' }).first().waitFor();
  await page.getByLabel('Text in who, what or a detail').fill('no such text');
  await page.getByText('No entry matches').waitFor();
});

test('gives axe nothing to find', async () => {
  await filled.service.call('POST', '/webhook/portal-links', { body: { tenant: 'TX' } });
  const page = await filled.openList('/access');
  for (const place of ['', '?panel=new-token', '?view=sessions', '?view=portal', '?view=audit']) {
    await page.goto(`/#/access${place}`);
    await rowsOf(page).first().waitFor();
    const options = place.includes('panel=') ? { part: drawerPart } : {};
    if (options.part !== undefined) await drawerOf(page).waitFor();
    expect(await listFindings(page, options), place).toEqual([]);
  }
});

test('the view that is chosen by key keeps the focus on its name', async () => {
  const page = await filled.openList('/access');
  await button(page, 'AUDIT').focus();
  await page.keyboard.press('Enter');
  await page.waitForURL((url) => url.hash.includes('view=audit'));
  const focused = () => page.evaluate<string>(`document.activeElement.textContent.slice(0, 20)`);
  await expect.poll(focused, patient).toBe('AUDIT');
  await page.keyboard.press('Tab');
  expect(await focused()).toBe('NOTICES');
});

test('somebody is told from now on, tried, and told nothing more, by keys alone', async () => {
  const { service } = filled;
  const page = await filled.open('/access?view=notices', { expected: [stepUp] });
  const reach = async (selector: string) => {
    await page.locator(selector).first().waitFor();
    await tabTo(page, selector);
    await page.keyboard.press('Enter');
  };
  await reach('button:has-text("Tell somebody")');
  await tabTo(page, 'aside[data-drawer] input');
  await page.keyboard.type(receiver.url('/pager'));
  // It is tried before it is added, and that asks for the token.
  await reach('button:has-text("Test it")');
  await confirmDialog(page).waitFor();
  await tabTo(page, '[role="dialog"] input');
  await page.keyboard.type(service.token);
  await page.keyboard.press('Enter');
  await page
    .getByText(/^The test reached .*\/pager in \d+ ms$/)
    .first()
    .waitFor();
  expect((await service.call('GET', '/notify/targets')).json.data).toEqual([]);
  await reach('button:has-text("Tell from now on")');
  const code = drawerOf(page).locator('code').first();
  await expect.poll(() => code.innerText(), patient).toMatch(/^whsec_/);
  const secret = await code.innerText();
  await reach('button:has-text("Test it")');
  const [, { body, headers } = { body: '', headers: {} }] = await receiver.waitFor(2);
  expect(new Webhook(secret).verify(body, headers)).toMatchObject({ type: 'svcctl.notices' });
  await reach('button:has-text("I have kept it")');

  const row = rowsOf(page).filter({ hasText: '/pager' });
  await row.getByText('everything').waitFor();
  await tabTo(page, 'tbody tr[data-key]');
  await reach('button:has-text("TEST")');
  await receiver.waitFor(3);
  await row.getByText('arrived').waitFor();

  await tabTo(page, 'tbody tr[data-key]');
  await reach('button:has-text("REMOVE")');
  await reach('[role="dialog"] button:has-text("Remove")');
  await page.getByText(/^Removed: .*\/pager$/).waitFor();
  await page.getByText('Nobody is told').waitFor();
});

test('a URL that is refused says why at its field, and a failed test says so in the list', async () => {
  const { service } = filled;
  const body = { kind: 'webhook', url: 'http://127.0.0.1:9/nobody' };
  const { id } = (await service.call('POST', '/notify/targets', { body })).json;
  const page = await filled.open('/access?view=notices', {
    expected: [/400 \(Bad Request\)/, stepUp],
  });
  await page.getByRole('button', { name: 'Tell somebody' }).click();
  await drawerOf(page).getByLabel('URL').fill('http://10.0.0.1/in');
  await page.getByRole('button', { name: 'Tell from now on' }).click();
  await confirm(page, service.token);
  await drawerOf(page).locator('[id$="-error"]').first().waitFor();
  expect(await drawerOf(page).getByLabel('URL').getAttribute('aria-invalid')).toBe('true');
  await page.keyboard.press('Escape');

  await page.getByRole('button', { name: 'TEST http://127.0.0.1:9/nobody' }).click();
  await page.getByText(/^The test did not reach http:\/\/127\.0\.0\.1:9\/nobody\. /).waitFor();
  await rowsOf(page).filter({ hasText: 'nobody' }).getByText('failed').waitFor();
  await service.call('DELETE', `/notify/targets/${id}`);
});

test('gives axe nothing to find on NOTICES', async () => {
  const { service } = filled;
  const body = { kind: 'webhook', url: 'http://127.0.0.1:9/axe' };
  const { id } = (await service.call('POST', '/notify/targets', { body })).json;
  const page = await filled.open('/access?view=notices');
  await rowsOf(page).first().waitFor();
  expect(await listFindings(page)).toEqual([]);
  await page.getByRole('button', { name: 'Tell somebody' }).click();
  await drawerOf(page).getByLabel('Of everything').uncheck();
  expect(await listFindings(page, { part: drawerPart })).toEqual([]);
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'REMOVE http://127.0.0.1:9/axe' }).click();
  await page.getByRole('dialog').waitFor();
  expect(await listFindings(page, { part: dialogPart })).toEqual([]);
  await service.call('DELETE', `/notify/targets/${id}`);
});

test('a notice shows whole what happened, what to do, and what to type', async () => {
  const { service } = filled;
  receiver.behave(() => answer(410));
  const body = { tenant: 'TX', url: receiver.url('/gone') };
  const { id } = (await service.call('POST', '/webhook/endpoints', { body })).json;
  const incident = { tenant: 'TX', type: 'incident.created', data: {} };
  await service.call('POST', '/incidents', { body: incident });
  const page = await filled.open('/access?view=notices');
  await rowsOf(page).filter({ hasText: '410 Gone' }).press('Enter');
  await drawerOf(page).getByText('Ask its owner for another URL').waitFor();
  await drawerOf(page).getByText(`svcctl endpoints show ${id}`, { exact: true }).waitFor();
  await drawerOf(page).getByRole('link', { name: 'Look at it' }).click();
  await page.getByRole('heading', { name: 'ENDPOINTS', level: 1 }).waitFor();
});

// What somebody else has to confirm.

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

const inDrawer = (page: Page, name: string) =>
  drawerOf(page).getByRole('button', { name, exact: true });

test('what somebody else has asked for is looked at, confirmed and done', async () => {
  const { service } = filled;
  const before = await countOf();
  const token = await makeOther();
  const asked = await service.call('POST', '/enrichment/erase', { token, body: slice });
  expect(asked.json.code).toBe('approval_required');
  const page = await filled.openList('/access?view=approvals', { expected: [stepUp] });
  await rowsOf(page).filter({ hasText: 'Erases 200 records of CA, store AUS' }).click();
  await drawerOf(page).getByText('"store": "AUS"').waitFor();
  await inDrawer(page, 'Confirm').click();
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
    expected: [stepUp],
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
  expect(await inDrawer(page, 'Confirm').count()).toBe(0);
  await inDrawer(page, 'Withdraw').click();
  await drawerOf(page).getByText('rejected', { exact: true }).waitFor();
  expect(await countOf()).toBe(before);
});

test('who may manage retention withdraws there what they ask for, and sees no request of others', async () => {
  const { service } = filled;
  const body = { name: 'Rita', scopes: ['retention:manage'] };
  const { token } = (await service.call('POST', '/tokens', { body })).json;
  const policy = (hold: boolean) => ({ hot_days: 3, delete_days: null, hold });
  const put = (hold: boolean) =>
    service.call('PUT', '/retention/policies/CA', { token, body: policy(hold) });
  expect((await put(true)).status).toBe(200);
  expect((await put(false)).json.code).toBe('approval_required');
  const other = await service.call('POST', '/enrichment/erase', {
    token: await makeOther(),
    body: { ...slice, tenant: 'TX' },
  });
  expect(other.json.code).toBe('approval_required');
  const page = await filled.open('/access', { token });
  await rowsOf(page).filter({ hasText: '(you)' }).click();
  expect(await rowsOf(page).count()).toBe(1);
  await inDrawer(page, 'Withdraw').click();
  await drawerOf(page).getByText('rejected', { exact: true }).waitFor();
  const tabs = page.getByRole('group', { name: 'What of the access is shown' });
  expect((await tabs.innerText()).split('\n')).toEqual(['APPROVALS', 'RIGHTS']);
});
