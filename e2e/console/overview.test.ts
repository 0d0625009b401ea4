import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { ingestBatch } from '../lib/ingest.ts';
import { makeRecord } from '../lib/records.ts';
import { waitFor } from '../lib/wait-for.ts';
import {
  drawerOf,
  type PageOptions,
  patient,
  recordRows,
  signIn,
  useConsole,
} from './lib/browser.ts';
import { abandonedCount, pendingCount, startWebhookService } from './lib/webhook-service.ts';

const webhooks = useConsole(() => startWebhookService({ begin: 'cluster' }));
beforeAll(async () => {
  await ingestBatch(
    webhooks.service,
    Array.from({ length: 40 }, (_, n) => makeRecord(`e${n}`, n)),
  );
});

const figures = (page: Page) => page.getByRole('region', { name: 'Figures' });
const state = (page: Page) => page.getByRole('region', { name: 'State' });
const tile = (page: Page, name: string) =>
  figures(page).getByRole('link', { name: new RegExp(`^${name}`) });

async function open(options: PageOptions = {}, token = webhooks.service.token) {
  const page = await webhooks.openBlank(options);
  await page.goto('/');
  await signIn(page, token);
  await tile(page, 'RECORDS').getByText('40', { exact: true }).waitFor();
  return page;
}

test('is the first page after sign-in, and leads to what is wrong and to each page', async () => {
  const page = await open();
  expect(new URL(page.url()).hash).toBe('#/');
  const wrong = state(page).getByRole('link');
  const abandoned = `${abandonedCount} webhooks abandoned after the last attempt`;
  expect(await wrong.allTextContents()).toContain(abandoned);
  await tile(page, 'DEAD LETTERS').getByText(`${pendingCount} pending`).waitFor();
  await tile(page, 'STORED TODAY').getByText('40', { exact: true }).waitFor();
  const service = page.getByRole('region', { name: 'SERVICE' });
  await service.getByText('live', { exact: true }).waitFor();
  await service.getByText('api, drainer, retention, exports').waitFor();
  // Nobody has backed up, but only the quick checks stand here.
  expect(await service.getByText('backup').count()).toBe(0);
  const untold = service.getByRole('link', { name: 'nobody is told of trouble' });
  expect(await untold.getAttribute('href')).toBe('#/access?view=notices');

  await wrong.filter({ hasText: 'abandoned' }).click();
  await expect.poll(() => new URL(page.url()).hash, patient).toBe('#/dlq?status=abandoned');
  await page.keyboard.press('g');
  await page.keyboard.press('o');
  await tile(page, 'LAST VERIFICATION').click();
  await expect.poll(() => new URL(page.url()).hash, patient).toBe('#/retention');
  await page.goBack();
  const needing = page.getByRole('region', { name: 'ENDPOINTS THAT NEED YOU' });
  const first = needing.getByRole('link').first();
  expect(await first.innerText()).toContain('503 Service Unavailable');
  await first.click();
  await drawerOf(page).waitFor();
});

test('tells in a line what is too little for a chart, and leads to the lists that it counts', async () => {
  const page = await open({ hasClock: true });
  const day = new Date().toISOString().slice(0, 10);
  const lines = page.locator('dl');
  await lines.getByText(`${day}: 40 records`).waitFor();
  await lines.getByText(`${day}: 40 hot`).waitFor();
  expect(await page.getByRole('slider').count()).toBe(0);
  await lines.getByRole('link', { name: /:00$/ }).first().click();
  await expect.poll(() => new URL(page.url()).hash, patient).toMatch(/^#\/deliveries\?from=/);
  await recordRows(page).first().waitFor();
  await page.goBack();
  await lines.getByRole('link', { name: 'TX' }).click();
  await page.getByRole('tree').waitFor();
  await page.goBack();
  await page.route('**/api/v1/stats/overview', async (route) => {
    const response = await route.fetch();
    const json = await response.json();
    json.records.days.count.splice(-4, 3, 9, 8, 7);
    json.webhooks.hours.delivered.splice(-3, 3, 7, 0, 95);
    await route.fulfill({ response, json });
  });
  await page.clock.fastForward(16_000);
  const delivered = tile(page, 'DELIVERED, 24 HOURS');
  await delivered.getByText('102', { exact: true }).waitFor();
  await delivered.getByText(/^[\d.]+ % ok · 95 since \d\d:00$/).waitFor();
  const chart = page.getByRole('region', { name: 'RECORDS STORED PER DAY, 90 DAYS' });
  await chart.getByRole('slider').focus();
  await page.keyboard.press('Enter');
  await expect
    .poll(() => new URL(page.url()).hash, patient)
    .toMatch(/^#\/records\?tenant=TX&where=/);
  await recordRows(page).first().waitFor();
});

test('shows a token without admin what it may see, on one column of a phone', async () => {
  const body = { name: 'reader', preset: 'support-readonly' };
  const { json } = await webhooks.service.call('POST', '/tokens', { body });
  const viewport = { width: 390, height: 844 };
  const page = await open({ viewport }, json.token);
  await state(page).getByText('Records and retention are well; webhooks were not looked').waitFor();
  await page.getByText('HOT AND COLD, 90 DAYS').waitFor();
  const names = await figures(page).getByRole('link').allInnerTexts();
  expect(names.map((text) => text.split('\n')[0])).toEqual([
    ...['RECORDS', 'STORED TODAY, UTC', 'LAST VERIFICATION', 'OPEN JOBS'],
  ]);
  expect(await page.getByRole('region', { name: 'SERVICE' }).count()).toBe(0);
  expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBe(390);
});

test('tells what became of the last replay, and leads to its deliveries', async () => {
  const { service, receiver } = webhooks;
  const made = { tenant: 'globex', url: `${receiver.url}/late`, enabled: false };
  const late = (await service.call('POST', '/webhook/endpoints', { body: made })).json.id;
  const body = { since: new Date(Date.now() - 3_600_000).toISOString() };
  const { id } = (await service.call('POST', `/webhook/endpoints/${late}/replay`, { body })).json;
  await waitFor('what became of the replay', async () => {
    const { outcome } = (await service.call('GET', `/webhook/replays/${id}`)).json;
    return outcome?.counts.waits_for_endpoint === 15;
  });
  const page = await open();
  const last = page.getByRole('region', { name: 'Last bulk job' });
  await last
    .getByText(/^Last replay, .*: 15 queued · 15 wait for their endpoint · still/)
    .waitFor();
  await last.getByRole('link', { name: '15 wait' }).click();
  await expect.poll(() => recordRows(page).count(), patient).toBe(15);
});

test('keeps what it showed in an outage, and is updated in place', async () => {
  const page = await open({ expected: [/503 \(Service Unavailable\)/], hasClock: true });
  let isDown = true;
  await page.route('**/api/v1/stats/overview', (route) =>
    isDown ? route.fulfill({ status: 503, body: '' }) : route.continue(),
  );
  await page.clock.fastForward(16_000);
  await page.locator('[data-failing]').waitFor();
  await tile(page, 'RECORDS').getByText('40', { exact: true }).waitFor();
  await ingestBatch(webhooks.service, [makeRecord('late', 1)]);
  isDown = false;
  await page.getByRole('button', { name: 'RETRY' }).click();
  await tile(page, 'RECORDS').getByText('41', { exact: true }).waitFor();
  await page.locator('[data-failing]').waitFor({ state: 'detached' });
});
