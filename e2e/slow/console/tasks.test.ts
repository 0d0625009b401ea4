import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import {
  confirm,
  drawerOf,
  patient,
  recordRows as rowsOf,
  treeNode,
  useConsole,
} from '../../console/lib/browser.ts';
import { startWebhookService } from '../../console/lib/webhook-service.ts';
import { ingestBatch } from '../../lib/ingest.ts';

// What operators do most, each from RECORDS, with the clicks that it takes at most. Keys that are typed into a
// field do not count, nor does giving the access token again.

const months = ['2001-01', '2001-02', '2001-03'];
const leafSize = 250;

const webhooks = useConsole(() => startWebhookService({ begin: 'cluster' }));
beforeAll(async () => {
  for (const month of months) {
    await ingestBatch(
      webhooks.service,
      Array.from({ length: leafSize }, (_, n) => ({
        tenant: 'TX',
        store: 'DFW',
        event_id: `fl-${month}-${n}`,
        occurred_at: `${month}-${String(1 + (n % 28)).padStart(2, '0')}T12:00:00Z`,
        enrichment: { n },
      })),
    );
  }
});

const countClicks = `
  window.clicks = Number(sessionStorage.getItem('clicks') ?? 0);
  addEventListener('pointerdown', () => {
    window.clicks += 1;
    sessionStorage.setItem('clicks', window.clicks);
  }, true);`;

/** Does a task from RECORDS on, and fails if it takes more clicks. */
async function task(most: number, act: (page: Page) => Promise<void>): Promise<void> {
  const page = await webhooks.open('/records', {
    initScripts: [countClicks, 'delete window.showSaveFilePicker;'],
    // What asks for the access token once more answers 403 first.
    expected: [/403 \(Forbidden\)/],
  });
  await treeNode(page, 'TX').waitFor();
  await page.evaluate('window.clicks = 0');
  await act(page);
  expect(await page.evaluate('window.clicks')).toBe(most);
}

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });

async function openLeaf(page: Page): Promise<void> {
  await treeNode(page, 'TX').click();
  await treeNode(page, 'DFW').click();
  await treeNode(page, '2001-03').click();
  await page.getByText('1–100 of 250').waitFor();
}

test('pages a month to its end in 3 clicks, and one for each page', () =>
  task(5, async (page) => {
    await openLeaf(page);
    await button(page, 'NEXT ›').click();
    await page.getByText('101–200 of 250').waitFor();
    await button(page, 'NEXT ›').click();
    await page.getByText('201–250 of 250').waitFor();
  }));

test('exports a month in 2 clicks more', () =>
  task(5, async (page) => {
    await openLeaf(page);
    await button(page, 'EXPORT…').click();
    await drawerOf(page).getByText('250', { exact: true }).waitFor();
    const coming = page.waitForEvent('download');
    await button(page, 'START download').click();
    await coming;
    await page.getByText('the finished file must hold 250 records').waitFor();
  }));

test('tags a quarter of a tenant in 4 clicks', () =>
  task(4, async (page) => {
    await treeNode(page, 'TX').click();
    await button(page, 'TAG…').click();
    await button(page, '2001 Q1').click();
    await button(page, 'TAG 750 records').click();
    await page.getByText('Tagged 750 records as training.').waitFor();
  }));

test('freezes what is tagged in 4 clicks', () =>
  task(4, async (page) => {
    await treeNode(page, 'TX').click();
    await button(page, 'VERSIONS').click();
    await button(page, /^FREEZE/).click();
    await drawerOf(page).getByLabel('Name').fill('spring');
    await drawerOf(page)
      .getByRole('button', { name: /^FREEZE/ })
      .click();
    await page
      .getByText('Froze')
      .or(page.getByRole('region', { name: 'Dataset versions' }).getByText('spring'))
      .first()
      .waitFor();
  }));

test('says why a webhook fails in 2 clicks', () =>
  task(2, async (page) => {
    await page.getByRole('link', { name: 'WEBHOOK DLQ' }).click();
    await rowsOf(page).first().click();
    await page.getByRole('heading', { name: 'ATTEMPTS' }).waitFor();
    await drawerOf(page).getByText('503').first().waitFor();
  }));

test('retries a webhook in 2 clicks, and is told where to follow it', () =>
  task(2, async (page) => {
    await page.getByRole('link', { name: 'WEBHOOK DLQ' }).click();
    await rowsOf(page)
      .first()
      .getByRole('button', { name: /^RETRY/ })
      .click();
    await page.getByText('Retry queued for').waitFor();
  }));

test('retries a group in 4 clicks, and shows what became of it', () =>
  task(4, async (page) => {
    await page.getByRole('link', { name: 'WEBHOOK DLQ' }).click();
    await button(page, 'groups').click();
    await rowsOf(page)
      .filter({ hasText: 'globex' })
      .getByRole('button', { name: 'Retry group' })
      .click();
    await page
      .getByRole('dialog', { name: 'Retry all' })
      .getByRole('button', { name: /^Retry \d+ deliver/ })
      .click();
    await page
      .getByRole('region', { name: 'Bulk jobs' })
      .getByText('done', { exact: true })
      .waitFor(patient);
  }));

test('finds out whether retention lost anything in 2 clicks', () =>
  task(2, async (page) => {
    await page.getByRole('link', { name: 'RETENTION' }).click();
    await button(page, /^VERIFY/).click();
    await page.getByText(/equal/).first().waitFor(patient);
  }));

test('tells who did what, and revokes a token, in 6 clicks', async () => {
  const body = { name: 'a colleague', preset: 'support-readonly' };
  const made = await webhooks.service.call('POST', '/tokens', { body });
  await task(6, async (page) => {
    await page.getByRole('link', { name: 'ACCESS' }).click();
    const row = rowsOf(page).filter({ hasText: 'a colleague' });
    await row.getByRole('button', { name: /^LOG/ }).click();
    await page.getByRole('heading', { name: 'No entry matches' }).waitFor();
    await button(page, 'TOKENS').click();
    await row.getByRole('button', { name: /^REVOKE/ }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke', exact: true }).click();
    await confirm(page, webhooks.service.token);
    await page.getByText('Revoked: a colleague').waitFor();
    await row.waitFor({ state: 'detached' });
  });
  const answer = await webhooks.service.call('GET', '/me', { token: made.json.token });
  expect(answer.json.code).toBe('token_revoked');
});

test('finds an event of a tenant by its id in 1 click', () =>
  task(1, async (page) => {
    await treeNode(page, 'TX').click();
    await page.getByLabel('Event, exactly').fill('fl-2001-03-77');
    await expect.poll(() => rowsOf(page).count(), patient).toBe(1);
    await rowsOf(page).getByText('fl-2001-03-77').waitFor();
  }));
