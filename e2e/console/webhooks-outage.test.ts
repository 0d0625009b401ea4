import type { Browser, Page, Route } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { drawerOf, launchBrowser, openPage, recordRows as rowsOf } from './lib/browser.ts';
import { openWebhooks, startWebhookService, type WebhookService } from './lib/webhook-service.ts';

let webhooks: WebhookService;
let browser: Browser;
beforeAll(async () => {
  [webhooks, browser] = await Promise.all([startWebhookService(), launchBrowser()]);
});
afterAll(async () => {
  await webhooks?.remove();
});

type Weather = 'fair' | 'failing' | 'cut';

const unavailable = {
  type: 'about:blank',
  title: 'Unavailable',
  status: 503,
  code: 'database_unavailable',
  detail: 'The database does not answer.',
  request_id: 'req-e2e',
};

/** Stands between the page and the API, and lets through, refuses or cuts every request. */
async function standBetween(page: Page): Promise<{ turn(weather: Weather): void }> {
  let weather: Weather = 'fair';
  const answer = {
    fair: (route: Route) => route.continue(),
    failing: (route: Route) =>
      route.fulfill({
        status: 503,
        contentType: 'application/problem+json',
        body: JSON.stringify(unavailable),
      }),
    cut: (route: Route) => route.abort('connectionrefused'),
  };
  await page.route('**/api/v1/**', (route) => answer[weather](route));
  return {
    turn(next) {
      weather = next;
    },
  };
}

const banner = (page: Page) => page.locator('[data-failing]');

/** A queue with a selection and an open drawer, and what of it must survive. */
async function openPlace(page: Page) {
  await openWebhooks(page, webhooks.service, '/dlq');
  await rowsOf(page).nth(2).locator('input').check();
  await rowsOf(page).nth(12).click();
  await page.getByRole('heading', { name: 'ATTEMPTS' }).waitFor();
  return readPlace(page);
}

async function readPlace(page: Page) {
  return {
    hash: new URL(page.url()).hash,
    rows: await rowsOf(page).evaluateAll((rows) => rows.map((row) => row.getAttribute('data-key'))),
    selected: await page.locator('tr[data-selected]').getAttribute('data-key'),
    drawer: await drawerOf(page).getByRole('heading', { level: 2 }).innerText(),
    totals: await page.locator('button[aria-pressed] strong').allInnerTexts(),
  };
}

test.each([
  ['answers 503', 'failing', '503 from the service'],
  ['cannot be reached', 'cut', 'No connection'],
] as const)(
  'keeps the queue while the API %s, and repaints in place by RETRY',
  async (_, weather, words) => {
    const { page, expectQuiet, close } = await openPage(browser, webhooks.service);
    await page.clock.install();
    const api = await standBetween(page);
    const before = await openPlace(page);

    api.turn(weather);
    await page.clock.fastForward(20_000);
    await banner(page).getByText(words).waitFor();
    expect(await banner(page).innerText()).toMatch(/showing data of \d\d:\d\d/);
    expect(await readPlace(page)).toEqual(before);

    api.turn('fair');
    await banner(page).getByRole('button', { name: 'RETRY' }).click();
    await banner(page).waitFor({ state: 'detached' });
    expect(await readPlace(page)).toEqual(before);
    expectQuiet([/503 \(Service Unavailable\)/, /ERR_CONNECTION_REFUSED/]);
    await close();
  },
);

test('comes back by itself, with what has changed meanwhile', async () => {
  const { service, receiver } = webhooks;
  const { page, expectQuiet, close } = await openPage(browser, service);
  await page.clock.install();
  const api = await standBetween(page);
  await openPlace(page);
  const key = (await rowsOf(page).nth(4).getAttribute('data-key')) ?? '';

  api.turn('failing');
  await page.clock.fastForward(20_000);
  await banner(page).waitFor();
  receiver.answer(200);
  await service.call('POST', `/webhook/dlq/${key}/retry`);
  expect(await page.locator(`tr[data-key="${key}"]`).count()).toBe(1);

  api.turn('fair');
  await page.clock.fastForward(20_000);
  await banner(page).waitFor({ state: 'detached' });
  await page.locator(`tr[data-key="${key}"]`).waitFor({ state: 'detached' });
  expectQuiet([/503 \(Service Unavailable\)/]);
  await close();
});

test('brings back a row whose retry did not get through', async () => {
  const { page, expectQuiet, close } = await openPage(browser, webhooks.service);
  const api = await standBetween(page);
  await openWebhooks(page, webhooks.service, '/dlq');
  const key = (await rowsOf(page).first().getAttribute('data-key')) ?? '';
  api.turn('cut');
  await rowsOf(page).first().getByRole('button', { name: 'RETRY' }).click();
  await page.getByText(`Not retried: dlv…${key.slice(-4)}`).waitFor();
  await page.locator(`tr[data-key="${key}"]`).waitFor();
  api.turn('fair');
  await banner(page).getByRole('button', { name: 'RETRY' }).click();
  await banner(page).waitFor({ state: 'detached' });
  expectQuiet([/ERR_CONNECTION_REFUSED/]);
  await close();
});

test('says of a first load that fails what is wrong, and shows the queue once it can', async () => {
  const { page, expectQuiet, close } = await openPage(browser, webhooks.service);
  await openWebhooks(page, webhooks.service, '/endpoints');
  const api = await standBetween(page);
  api.turn('failing');
  await page.getByRole('link', { name: 'WEBHOOK DLQ' }).click();
  const panel = page.getByRole('alert').filter({ hasText: 'cannot answer' });
  await panel.getByText('The service cannot answer (503)').waitFor();
  api.turn('fair');
  await panel.getByRole('button', { name: 'RETRY' }).click();
  await rowsOf(page).first().waitFor();
  expectQuiet([/503 \(Service Unavailable\)/]);
  await close();
});
