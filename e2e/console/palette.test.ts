import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  drawerOf,
  launchBrowser,
  openPage,
  openSignedIn,
  patient,
  recordRows,
  treeNode,
  waitForRecord,
} from './lib/browser.ts';
import { bigLeaf, type FilledService, startFilled } from './lib/filled-service.ts';

let filled: FilledService;
let browser: Browser;
beforeAll(async () => {
  [filled, browser] = await Promise.all([startFilled(), launchBrowser()]);
});
afterAll(async () => {
  await filled?.installation.remove();
});

const palette = (page: Page) => page.getByRole('dialog', { name: 'Find anything' });
const field = (page: Page) => page.getByRole('combobox', { name: /^Find a tenant/ });
const hashOf = (page: Page) => decodeURIComponent(new URL(page.url()).hash);

/** Opens it, puts the text in as a whole, and presses Enter without waiting for what is found. */
async function pasteAndGo(page: Page, text: string): Promise<void> {
  await page.keyboard.press('Control+k');
  await page.keyboard.insertText(text);
  await page.keyboard.press('Enter');
  await palette(page).waitFor({ state: 'detached' });
}

test('takes what is typed right after Ctrl K, and gives the focus back on Escape', async () => {
  const { page, expectQuiet, close } = await openPage(browser, filled.service);
  await openSignedIn(page, filled.service, '/records');
  await treeNode(page, 'TX').focus();
  const place = hashOf(page);
  await page.keyboard.press('Control+k');
  await page.keyboard.type('/TX');
  expect(await field(page).inputValue()).toBe('/TX');
  await page.keyboard.press('Escape');
  await palette(page).waitFor({ state: 'detached' });
  await expect
    .poll(() => page.evaluate<string>('document.activeElement.dataset.key'), patient)
    .toBe('TX');
  expect(hashOf(page)).toBe(place);
  expect(await page.locator('[data-search]').inputValue()).toBe('');

  const button = page.getByRole('button', { name: /^Find a tenant/ });
  await button.click();
  await palette(page).waitFor();
  await page.keyboard.press('Escape');
  await palette(page).waitFor({ state: 'detached' });
  await page.locator('header button:focus').getByText('Find a tenant').waitFor();
  expectQuiet();
  await close();
});

test('goes to a page and runs commands', async () => {
  const { page, expectQuiet, close } = await openPage(browser, filled.service);
  await openSignedIn(page, filled.service, '/records');
  await page.goto('/#/no-such-page');
  await page.getByText('There is no such page').waitFor();
  await pasteAndGo(page, 'go to rec');
  await page.getByRole('tree').waitFor();
  expect(hashOf(page)).toBe('#/records');

  await pasteAndGo(page, 'all keys');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  expectQuiet();
  await close();
});

test('leads to the tenant, store or month whose path is pasted', async () => {
  const { page, expectQuiet, close } = await openPage(browser, filled.service);
  await openSignedIn(page, filled.service, '/records');
  const places = [
    ['CA', 'CA', ['tenant=CA']],
    ['TX/DFW', 'DFW', ['tenant=TX', 'store=DFW']],
    [' TX › AUS › 2001-02 ', '2001-02', ['tenant=TX', 'store=AUS', 'month=2001-02']],
    ['tx/iah', 'IAH', ['tenant=TX', 'store=IAH']],
  ] as const;
  for (const [text, name, parts] of places) {
    await pasteAndGo(page, text);
    await page.getByRole('heading', { name, exact: true }).waitFor();
    for (const part of parts) expect(hashOf(page)).toContain(part);
  }
  expectQuiet();
  await close();
});

test('opens the record whose link or identity is pasted', async () => {
  const { page, expectQuiet, close } = await openPage(browser, filled.service);
  await openSignedIn(page, filled.service, bigLeaf);
  await recordRows(page).nth(5).click();
  await waitForRecord(page);
  const link = page.url();
  const key = (await recordRows(page).nth(5).getAttribute('data-key')) ?? '';
  const event = await page.locator('#panel-title').innerText();

  for (const text of [link, key]) {
    await pasteAndGo(page, 'CA');
    await page.getByRole('heading', { name: 'CA', exact: true }).waitFor();
    await drawerOf(page).waitFor({ state: 'detached' });
    await pasteAndGo(page, text);
    await waitForRecord(page);
    expect(await page.locator('#panel-title').innerText()).toBe(event);
    await page.getByText('1–100 of 1,200').waitFor();
    expect(await recordRows(page).nth(5).getAttribute('aria-current')).toBe('true');
  }
  expectQuiet();
  await close();
});

test('says when nothing is found, and stays', async () => {
  const { page, expectQuiet, close } = await openPage(browser, filled.service);
  await openSignedIn(page, filled.service, '/records');
  await page.keyboard.press('Control+k');
  await page.keyboard.insertText('no such tenant');
  await palette(page).getByText('Nothing is found for “no such tenant”.').waitFor();
  await page.keyboard.press('Enter');
  await palette(page).waitFor();
  expectQuiet();
  await close();
});
