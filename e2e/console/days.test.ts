import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { patient, recordRows, useConsole } from './lib/browser.ts';
import { bigLeaf, startFilled } from './lib/filled-service.ts';
import { quietRetention } from './lib/retention.ts';

// The days that are shown, and how they are chosen.

const filled = useConsole(() => startFilled(quietRetention));
const day = (page: Page, date: string) => page.locator(`[data-day="${date}"]`);

test('in local time, days say that they are those of UTC', async () => {
  const page = await filled.open(bigLeaf, {
    timezoneId: 'Asia/Kolkata',
    initScripts: [`localStorage.setItem('svcctl.zone', 'local')`],
  });
  await recordRows(page).first().waitFor();
  await page.getByLabel(/^Days by UTC/).waitFor();
  await page.getByText('days are UTC').waitFor();
  await page.getByRole('button', { name: 'DAYS', exact: true }).click();
  await day(page, '2001-03-01').waitFor();
  await page.getByText('days are UTC').waitFor();
});

test('a refused day says why, and does not stay as if it were in force', async () => {
  const page = await filled.open(bigLeaf);
  await recordRows(page).first().waitFor();
  const days = page.getByLabel(/^Days by UTC/);
  await days.fill('2001-02-31');
  await page.keyboard.press('Enter');
  await page.getByText('Not days such as 2026-03-05').waitFor();
  await days.fill('2002');
  await page.keyboard.press('Enter');
  await page.getByText('None of its days is from 2001-03-01 to 2001-03-31').waitFor();
  await page.keyboard.press('Tab');
  expect(await days.inputValue()).toBe('');
  expect(await page.getByText('None of its').count()).toBe(0);
  expect(page.url()).not.toMatch(/from=|to=/);
  await days.fill('2001-03-30..2001-04-02');
  await page.waitForURL(/from=2001-03-30&to=2001-03-31/);
  expect(await days.inputValue()).toBe('2001-03-30..2001-03-31');
  await days.fill('2001-q1');
  await page.keyboard.press('Tab');
  await page.waitForURL(/from=2001-03-01&to=2001-03-31/);
  expect(await days.inputValue()).toBe('2001-03');
});

test('days are chosen in a calendar and by what has a name, by key and pointer, and stay in the address', async () => {
  const page = await filled.open('/records?tenant=TX&store=DFW');
  await recordRows(page).first().waitFor();
  const open = page.getByRole('button', { name: 'Choose days' });
  await open.click();
  const choices = page.getByRole('dialog');
  const quarters = choices.getByRole('group', { name: 'Quarters' }).getByRole('button');
  await expect.poll(() => quarters.allTextContents(), patient).toEqual(['2001 Q1']);
  // It opens where the data is. A click is a day, another one the days up to there.
  await choices.locator('[data-day="2001-03-09"]').click();
  await page.waitForURL(/from=2001-03-09&to=2001-03-09/);
  await choices.locator('[data-day="2001-03-05"]').click();
  await page.waitForURL(/from=2001-03-05&to=2001-03-09/);
  await choices.waitFor({ state: 'detached' });
  expect(await page.getByLabel(/^Days by UTC/).inputValue()).toBe('2001-03-05..2001-03-09');

  await open.focus();
  await page.keyboard.press('Enter');
  await choices.getByRole('button', { name: 'A month earlier' }).click();
  await choices.getByRole('button', { name: '2001-02' }).click();
  await page.waitForURL(/from=2001-02-01&to=2001-02-28/);
  await page.locator('[aria-label="Choose days"]:focus').waitFor();
  await page.keyboard.press('Enter');
  await choices.locator('[data-day="2001-02-01"]').focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  await page.waitForURL(/from=2001-02-02&to=2001-02-02/);
  await choices.getByRole('button', { name: 'Yesterday' }).click();
  const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
  await page.waitForURL(new RegExp(`from=${yesterday}&to=${yesterday}`));
  await open.click();
  await choices.getByRole('button', { name: 'All days' }).click();
  await expect.poll(() => page.url(), patient).not.toMatch(/from=|to=/);
});

test('a page of some days of a store, or of a kind, says of how many', async () => {
  const store = '/records?tenant=TX&store=DFW&from=2001-03-02';
  const page = await filled.open(store);
  const { json } = await filled.service.call(
    'GET',
    '/exports/estimate?tenant=TX&store=DFW&from=2001-03-02&to=2999-12-31',
  );
  await page.getByText(`1–100 of ${json.rows.toLocaleString('en-US')}`).waitFor();
});
