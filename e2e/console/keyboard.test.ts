import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  drawerOf,
  launchBrowser,
  openPage,
  openSignedIn,
  patient,
  tabTo,
  waitForRecord,
} from './lib/browser.ts';
import { type FilledService, startFilled } from './lib/filled-service.ts';

let filled: FilledService;
let browser: Browser;
beforeAll(async () => {
  [filled, browser] = await Promise.all([startFilled(), launchBrowser()]);
});
afterAll(async () => {
  await filled?.installation.remove();
});

/** Key of the node or record that has the focus. */
const focusedKey = (page: Page) =>
  page.evaluate<string | null>(`document.activeElement.getAttribute('data-key')`);

const expectFocus = (page: Page, key: string) =>
  expect.poll(() => focusedKey(page), patient).toBe(key);

test('goes from the tree to a record and back by keys alone', async () => {
  const { page, expectQuiet, close } = await openPage(browser, filled.service);
  await openSignedIn(page, filled.service, '/records');
  await page.getByRole('treeitem').first().waitFor();
  const press = (key: string) => page.keyboard.press(key);

  await tabTo(page, '[role="treeitem"]');
  await expectFocus(page, 'CA');
  await press('End');
  await expectFocus(page, 'TX');
  await press('ArrowRight');
  await page.getByRole('treeitem', { name: /^DFW/ }).waitFor();
  await press('ArrowRight');
  await expectFocus(page, 'TX/AUS');
  await press('d');
  await expectFocus(page, 'TX/DFW');
  await press('ArrowRight');
  await page.getByRole('treeitem', { name: /^2001-03/ }).waitFor();
  await press('ArrowRight');
  await press('ArrowDown');
  await expectFocus(page, 'TX/DFW/2001-03');
  await press('Enter');
  await page.getByText('1–100 of 1,200').waitFor();
  await expectFocus(page, 'TX/DFW/2001-03');

  await tabTo(page, 'tbody tr');
  const first = await focusedKey(page);
  await press('j');
  const second = await focusedKey(page);
  expect(second).not.toBe(first);
  await press('j');
  await press('k');
  await expectFocus(page, second ?? '');
  await press('Enter');
  await waitForRecord(page);
  await page.locator('#panel-title:focus').waitFor();
  await press('Escape');
  await drawerOf(page).waitFor({ state: 'detached' });
  await expectFocus(page, second ?? '');
  expectQuiet();
  await close();
});

test('finds a store by the search, and tells the keys', async () => {
  const { page, expectQuiet, close } = await openPage(browser, filled.service);
  await openSignedIn(page, filled.service, '/records');
  await page.getByRole('treeitem').first().waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('TX/D');
  await page.getByRole('treeitem', { name: /^AUS/ }).waitFor({ state: 'detached' });
  await page.getByRole('treeitem', { name: /^DFW/ }).waitFor();
  await page.keyboard.press('ArrowDown');
  await expectFocus(page, 'TX');
  await page.keyboard.press('?');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  expectQuiet();
  await close();
});
