import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { confirmDialog, drawerOf, patient, recordRows, tabTo, useConsole } from './lib/browser.ts';
import { startFilled } from './lib/filled-service.ts';
import { quietRetention } from './lib/retention.ts';

// The tasks of docs/tasks.md that the console does, each by keys alone. How one looks at records and finds an event is in
// slow/console/keys.test.ts and find-anything.test.ts; records come from a pipeline, and backups from its machine.

const filled = useConsole(() =>
  startFilled({ SVC_ALLOW_TARGETS: '127.0.0.0/8', ...quietRetention }),
);

/** The first answer to what asks for the access token once more. */
const asked = { expected: [/403 \(Forbidden\)/] };

/** Takes the line of the palette that a text finds. */
async function find(page: Page, text: string): Promise<void> {
  await page.keyboard.press('Control+k');
  await page.keyboard.insertText(text);
  await page.keyboard.press('Enter');
}

async function reach(page: Page, selector: string): Promise<void> {
  await page.locator(selector).first().waitFor();
  await tabTo(page, selector);
}

async function press(page: Page, selector: string): Promise<void> {
  await reach(page, selector);
  await page.keyboard.press('Enter');
}

async function type(page: Page, selector: string, text: string): Promise<void> {
  await reach(page, selector);
  await page.keyboard.insertText(text);
}

/** Sends the form in whose field the focus is, and gives the access token once more. */
async function sendAndConfirm(page: Page): Promise<void> {
  await page.keyboard.press('Enter');
  await confirmDialog(page).waitFor();
  const question = '[role="dialog"]:has-text("Confirm with your access token")';
  await type(page, `${question} input`, filled.service.token);
  await page.keyboard.press('Enter');
}

const inPanel = (selector: string) => `aside[data-drawer] ${selector}`;

test('exports the quarter of a tenant', async () => {
  const page = await filled.open('/records');
  await page.evaluate('delete window.showSaveFilePicker');
  await find(page, 'export TX');
  await press(page, inPanel('button:has-text("2001 Q1")'));
  await drawerOf(page).getByText('2,200', { exact: true }).waitFor();
  const coming = page.waitForEvent('download');
  await press(page, inPanel('button:has-text("START")'));
  await coming;
  await page.getByText('the finished file must hold 2,200 records').waitFor();
});

test('tags a quarter, freezes it, and goes on to its export', async () => {
  const page = await filled.open('/records');
  await find(page, 'tag TX');
  await press(page, inPanel('button:has-text("2001 Q1")'));
  await press(page, inPanel('button:has-text("TAG 2,200 records")'));
  await page.getByText('Tagged 2,200 records as training.').waitFor();
  await find(page, 'freeze TX');
  await type(page, inPanel('input[maxlength="200"]'), 'spring');
  await page.keyboard.press('Enter');
  await drawerOf(page).getByRole('heading', { name: 'VERSION spring' }).waitFor();
  await press(page, inPanel('button:has-text("EXPORT")'));
  await drawerOf(page).getByRole('heading', { name: 'TX spring' }).waitFor();
});

test('begins to move what is due to the cold tier, and to read it back', async () => {
  const { service } = filled;
  const page = await filled.open('/retention', asked);
  await find(page, 'Run retention now');
  await reach(page, '[role="dialog"] button:has-text("Move 3,400 records")');
  await sendAndConfirm(page);
  await page.getByRole('dialog').first().waitFor({ state: 'detached' });
  await press(page, 'button:has-text("VERIFY")');
  // How both end takes seconds, and is seen in retention.test.ts.
  for (const path of ['/retention/runs', '/retention/verify']) {
    const count = async () => (await service.call('GET', path)).json.data.length;
    await expect.poll(count, patient).toBe(1);
  }
});

test('registers an endpoint, sees why its webhook failed, and retries it', async () => {
  const { service } = filled;
  const page = await filled.open('/endpoints', asked);
  await find(page, 'New endpoint');
  await type(page, inPanel('input[name="tenant"]'), 'TX');
  await type(page, inPanel('input[name="url"]'), 'http://127.0.0.1:9/in');
  await sendAndConfirm(page);
  await press(page, '[role="dialog"] button:has-text("I have kept it")');
  const body = { tenant: 'TX', type: 'incident.created', data: {} };
  expect((await service.call('POST', '/incidents', { body })).status).toBe(202);
  await find(page, 'Go to WEBHOOK DLQ');
  await press(page, 'tbody tr[data-key]');
  await drawerOf(page).getByText('ECONNREFUSED').first().waitFor();
  await page.keyboard.press('Escape');
  await reach(page, 'tbody tr[data-key]');
  await page.keyboard.press('r');
  await page.getByText('Retry queued for').waitFor();
});

test('lets a colleague in, and out again', async () => {
  const page = await filled.openList('/access', asked);
  await press(page, 'button[aria-label="New token"]');
  await type(page, inPanel('input'), 'Kim');
  await sendAndConfirm(page);
  await press(page, inPanel('button:has-text("I have kept it")'));
  await recordRows(page).filter({ hasText: 'Kim' }).waitFor();
  await reach(page, 'tbody tr[data-key]');
  await page.keyboard.press('j');
  await press(page, 'button:has-text("REVOKE"):has-text("Kim")');
  await press(page, '[role="dialog"] button:has-text("Revoke")');
  await page.getByText('Revoked: Kim').waitFor();
});
