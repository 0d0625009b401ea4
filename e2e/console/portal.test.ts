import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { afterAll, expect, test } from 'vitest';
import { drawerPart, listFindings } from './lib/axe.ts';
import { drawerOf, launchBrowser, recordRows as rowsOf, useConsole } from './lib/browser.ts';
import { startWebhookService } from './lib/webhook-service.ts';

/** The page of an application, on an origin of its own, that has the portal in a frame. */
const application = createServer((request, response) => {
  const src = new URL(request.url ?? '/', 'http://x').searchParams.get('src');
  const tell = `addEventListener('message', ({ data }) => { document.title = data; })`;
  response.setHeader('content-type', 'text/html');
  response.end(`<iframe src="${src}" width="1200" height="800"></iframe><script>${tell}</script>`);
});
await new Promise<void>((done) => application.listen(0, '127.0.0.1', done));
afterAll(() => void application.close());
const { port } = application.address() as AddressInfo;
const origin = `http://127.0.0.1:${port}`;

const webhooks = useConsole(() => startWebhookService({ env: { SVC_PORTAL_ORIGINS: origin } }));

/** A new link into the portal of the tenant acme. */
async function makeLink(more: object = {}): Promise<{ id: string; url: string }> {
  const body = { tenant: 'acme', ...more };
  return (await webhooks.service.call('POST', '/webhook/portal-links', { body })).json;
}

const pageLink = (page: Page, name: string) => page.getByRole('link', { name, exact: true });

test('a link shows a tenant its endpoints and deliveries, and how one is retried', async () => {
  const page = await webhooks.openBlank();
  const asked: string[] = [];
  page.on('request', (request) => asked.push(new URL(request.url()).pathname));
  await page.goto((await makeLink()).url);
  await page.getByRole('heading', { name: 'acme', level: 1 }).waitFor();
  expect(page.url()).toBe(`${webhooks.service.url}/portal#/endpoints`);
  await rowsOf(page).first().waitFor();
  expect(await rowsOf(page).count()).toBe(1);
  expect(await page.locator('nav').innerText()).not.toContain('RECORDS');

  await rowsOf(page).first().click();
  await drawerOf(page).getByRole('link', { name: '15 abandoned' }).click();
  await expect.poll(() => rowsOf(page).count()).toBe(15);
  webhooks.receiver.answer(204);
  await rowsOf(page).first().getByRole('button', { name: 'RETRY' }).click();
  await page.getByText(/^Retry queued for/).waitFor();
  await page.getByRole('link', { name: 'follow it' }).click();
  await drawerOf(page).getByText('204').first().waitFor();
  expect(await drawerOf(page).innerText()).toContain('web-');
  expect(await drawerOf(page).getByRole('button', { name: 'PURGE…' }).count()).toBe(0);

  await pageLink(page, 'INCIDENTS').click();
  await expect.poll(() => rowsOf(page).count()).toBe(15);
  expect(asked.filter((path) => /enrichment|tokens|dlq\/jobs|overview/.test(path))).toEqual([]);
});

test('what is replayed is followed and cancelled in the panel of the endpoint', async () => {
  const page = await webhooks.openBlank();
  await page.goto((await makeLink()).url);
  await rowsOf(page).first().click();
  await drawerOf(page).getByRole('button', { name: 'Replay…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Send').selectOption('all');
  await dialog.getByLabel('Deliveries a second, at most').fill('1');
  await dialog.getByRole('button', { name: /^Replay \d/ }).click();
  const drawer = drawerOf(page);
  await drawer.getByText(/Replay \S+: running, \d+ of \d+ deliveries sent on/).waitFor();
  await drawer.getByRole('button', { name: 'CANCEL…' }).click();
  await dialog.getByText('What it has queued is sent, the rest is not.').waitFor();
  await dialog.getByRole('button', { name: 'Cancel it' }).click();
  await drawer.getByText(/Replay \S+: cancelled/).waitFor();
});

test('a link to look at shows no buttons that change an endpoint', async () => {
  const page = await webhooks.openBlank();
  await page.goto((await makeLink({ scope: 'webhooks:read' })).url);
  await rowsOf(page).first().click();
  await drawerOf(page).getByText('all its deliveries').waitFor();
  for (const name of ['New endpoint', 'Ping', 'Edit', 'Rotate secret…', 'Delete…']) {
    expect(await page.getByRole('button', { name, exact: true }).count(), name).toBe(0);
  }
});

test('a link to look at retries nothing, of deliveries and of incidents', async () => {
  const page = await webhooks.openBlank();
  await page.goto((await makeLink({ scope: 'webhooks:read' })).url);
  const retries = page.getByRole('button', { name: /RETRY|SEND AGAIN/ });
  for (const [list, told] of [
    ['DELIVERIES', 'ATTEMPTS'],
    ['INCIDENTS', 'show in DELIVERIES'],
  ] as const) {
    await pageLink(page, list).click();
    await expect.poll(() => rowsOf(page).count()).toBe(15);
    await page.keyboard.press('j');
    await page.keyboard.press('r');
    await rowsOf(page).first().click();
    await drawerOf(page).getByText(told, { exact: true }).waitFor();
    expect(await retries.count(), list).toBe(0);
    expect(await page.getByText(/^Not retried/).count(), list).toBe(0);
  }
});

test('a page of another origin has it in a frame, and is told when it ends', async () => {
  const context = await (await launchBrowser()).newContext();
  const page = await context.newPage();
  const link = await makeLink();
  await page.goto(`${origin}/?src=${encodeURIComponent(link.url)}`);
  const frame = page.frameLocator('iframe');
  await frame.getByText('/acme/in').first().waitFor();
  await webhooks.service.call('DELETE', `/webhook/portal-links/${link.id}`);
  await frame.getByRole('link', { name: 'DELIVERIES' }).click();
  await frame.getByRole('heading', { name: 'Open your webhooks again' }).waitFor();
  await expect.poll(() => page.title()).toBe('svcctl:portal-ended');
  await page.goto(`${origin}/?src=${encodeURIComponent(webhooks.service.url)}`);
  await expect.poll(() => page.frames().at(-1)?.url()).toMatch(/^chrome-error:/);
  await context.close();
});

test('meets WCAG 2.2 AA in both themes, also on a phone, where its bar has one line', async () => {
  const page = await webhooks.openBlank();
  await page.goto((await makeLink()).url);
  await rowsOf(page).first().waitFor();
  const findings: Record<string, string[]> = { endpoints: await listFindings(page) };
  await rowsOf(page).first().click();
  await drawerOf(page).getByText('all its deliveries').waitFor();
  findings.endpoint = await listFindings(page, { part: drawerPart });
  await page.setViewportSize({ width: 390, height: 844 });
  findings.phone = await listFindings(page, { only: 'light' });
  expect(findings).toEqual({ endpoints: [], endpoint: [], phone: [] });
  const bar = await page.locator('header').first().boundingBox();
  expect(bar?.height).toBeLessThan(60);
});
