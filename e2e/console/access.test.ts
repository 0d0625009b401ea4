import type { Page } from 'playwright-core';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { useReceiver } from '../../packages/server/test/receiver.ts';
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
import { holdBack } from './lib/weather.ts';

const filled = useConsole(() => startFilled({ SVC_ALLOW_TARGETS: '127.0.0.0/8' }));
const receiver = useReceiver();

/** The first answer to what asks for the access token once more. */
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
  await row.getByRole('button', { name: 'REVOKE Kim' }).click();
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

test('a session that is ended asks to sign in again, wherever it is', async () => {
  const { service } = filled;
  const { token } = (
    await service.call('POST', '/tokens', { body: { name: 'guest', preset: 'curator' } })
  ).json;
  const guest = await filled.open('/records', { token });
  const page = await filled.openList('/access?view=sessions', {
    expected: [/401 \(Unauthorized\)/],
  });
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
  await button(page, 'Verify the log').click();
  await page.getByText(/^Chain verified, \d+ entries$/).waitFor();
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
  await reach('button:has-text("Tell from now on")');
  await confirmDialog(page).waitFor();
  await tabTo(page, '[role="dialog"] input');
  await page.keyboard.type(service.token);
  await page.keyboard.press('Enter');
  const code = drawerOf(page).locator('code').first();
  await expect.poll(() => code.innerText(), patient).toMatch(/^whsec_/);
  const secret = await code.innerText();
  await reach('button:has-text("I have kept it")');

  const row = rowsOf(page).filter({ hasText: '/pager' });
  await row.getByText('everything').waitFor();
  await tabTo(page, 'tbody tr[data-key]');
  await reach('button:has-text("TEST")');
  await page.getByText(/^The test reached .*\/pager in \d+ ms$/).waitFor();
  await row.getByText('arrived').waitFor();
  const [{ body, headers } = { body: '', headers: {} }] = await receiver.waitFor(1);
  expect(new Webhook(secret).verify(body, headers)).toMatchObject({ type: 'svcctl.notices' });

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
