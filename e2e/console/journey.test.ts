import { readFile } from 'node:fs/promises';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readCsv } from '../lib/csv.ts';
import {
  drawerOf,
  launchBrowser,
  openPage,
  openSignedIn,
  patient,
  recordRows,
  signIn,
  treeNode,
  waitForRecord,
} from './lib/browser.ts';
import { bigLeaf, bigLeafSize, type FilledService, startFilled } from './lib/filled-service.ts';

let filled: FilledService;
let browser: Browser;
beforeAll(async () => {
  [filled, browser] = await Promise.all([startFilled(), launchBrowser()]);
});
afterAll(async () => {
  await browser?.close();
  await filled?.installation.remove();
});

/** A browser without the file picker, as Firefox. */
const withoutPicker = 'delete window.showSaveFilePicker;';

/** A picker that needs no dialog, and a file in memory. */
const memoryPicker = `
  window.savedChunks = [];
  window.showSaveFilePicker = async ({ suggestedName }) => ({
    name: suggestedName,
    createWritable: async () => ({
      write: async (chunk) => { window.savedChunks.push(new TextDecoder().decode(chunk)); },
      close: async () => { window.isSaved = true; },
      abort: async () => {},
    }),
  });`;

test('refuses a wrong token in its field, and a link that was used says so', async () => {
  const { page, expectQuiet, close } = await openPage(browser, filled.service);
  await page.goto('/#/records');
  await signIn(page, 'svc_wrong');
  await page.locator('[id$="-error"]').waitFor();
  await page.goto('/#/sign-in?code=used-up');
  await page.getByRole('alert').getByText('used already').waitFor();
  expectQuiet([/40[01] \(.*\/api\/v1\/session$/]);
  await close();
});

test('leads from the printed link to a month, through its pages, into a record and back', async () => {
  const { page, expectQuiet, close } = await openPage(browser, filled.service);
  await page.goto(filled.link);
  await treeNode(page, 'TX').click();
  await treeNode(page, 'DFW').click();
  await treeNode(page, '2001-03').click();
  await page.getByText('1–100 of 1,200').waitFor();
  expect(hashOf(page)).toMatch(/tenant=TX.*store=DFW.*month=2001-03/);
  const first = await recordRows(page).first().getAttribute('data-key');

  await page.getByRole('button', { name: 'NEXT ›' }).click();
  await page.getByText('101–200 of 1,200').waitFor();
  await expect.poll(() => recordRows(page).first().getAttribute('data-key')).not.toBe(first);
  await page.getByRole('button', { name: '‹ PREV' }).click();
  await page.getByText('1–100 of 1,200').waitFor();
  await expect.poll(() => recordRows(page).first().getAttribute('data-key')).toBe(first);

  await recordRows(page).nth(2).click();
  await waitForRecord(page);
  expect(hashOf(page)).toContain('record=TX/DFW/');
  await page.keyboard.press('Escape');
  await drawerOf(page).waitFor({ state: 'detached' });

  await recordRows(page).nth(3).click();
  await waitForRecord(page);
  await page.goBack();
  await drawerOf(page).waitFor({ state: 'detached' });
  await page.getByText('1–100 of 1,200').waitFor();
  await page.goBack();
  await page.getByText('101–200 of 1,200').waitFor();
  expectQuiet();
  await close();
});

test('reopens a copied link at the same record, with its node in sight', async () => {
  const { page, expectQuiet, close } = await openPage(browser, filled.service);
  await openSignedIn(page, filled.service, bigLeaf);
  await recordRows(page).nth(4).click();
  await waitForRecord(page);
  const link = page.url();

  await page.goto('about:blank');
  await page.goto(link);
  await waitForRecord(page);
  const chosen = page.getByRole('treeitem', { selected: true });
  await chosen.waitFor();
  expect(await chosen.getAttribute('data-key')).toBe('TX/DFW/2001-03');
  expect(await recordRows(page).nth(4).getAttribute('aria-current')).toBe('true');
  expectQuiet();
  await close();
});

test('opens up to the node that a link names, and closes again what is closed by hand', async () => {
  const { page, expectQuiet, close } = await openPage(browser, filled.service);
  await openSignedIn(page, filled.service, bigLeaf);
  await treeNode(page, '2001-03').waitFor();
  await treeNode(page, 'DFW').locator('[data-toggle]').click();
  await treeNode(page, '2001-03').waitFor({ state: 'detached' });
  expect(hashOf(page)).toContain('month=2001-03');
  expectQuiet();
  await close();
});

test('downloads by the one-use link as many rows as it told', async () => {
  const options = { initScripts: [withoutPicker] };
  const { page, expectQuiet, close } = await openPage(browser, filled.service, options);
  await openSignedIn(page, filled.service, bigLeaf);
  await page.getByRole('button', { name: 'EXPORT…' }).click();
  await drawerOf(page).getByText('1,200', { exact: true }).waitFor();
  const coming = page.waitForEvent('download');
  await page.getByRole('button', { name: 'START download' }).click();
  const download = await coming;
  expect(download.suggestedFilename()).toMatch(/\.csv$/);
  const csv = await readFile(await download.path(), 'utf8');
  expect(readCsv(csv)).toHaveLength(bigLeafSize + 1);
  await page.getByText('the finished file must hold 1,200 records').waitFor();
  expectQuiet();
  await close();
});

test('writes into a picked file and shows both numbers of the check', async () => {
  const options = { initScripts: [memoryPicker] };
  const { page, expectQuiet, close } = await openPage(browser, filled.service, options);
  await openSignedIn(page, filled.service, bigLeaf);
  await page.getByRole('button', { name: 'EXPORT…' }).click();
  await page.getByRole('button', { name: 'START: choose a file' }).click();
  await page.getByText('rows = count: 1,200 = 1,200').waitFor();
  const saved: { text: string; isSaved: boolean } = await page.evaluate(
    '({ text: window.savedChunks.join(""), isSaved: window.isSaved })',
  );
  expect(saved.isSaved).toBe(true);
  expect(readCsv(saved.text)).toHaveLength(bigLeafSize + 1);
  expectQuiet();
  await close();
});

test(
  'signs out, and Back shows nothing of the session',
  async () => {
    const { page, expectQuiet, close } = await openPage(browser, filled.service);
    await openSignedIn(page, filled.service, bigLeaf);
    await recordRows(page).first().waitFor();
    await page.getByRole('button', { name: 'Signed in as' }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Access token').waitFor();
    await page.goBack();
    await page.getByLabel('Access token').waitFor();
    expect(await recordRows(page).count()).toBe(0);
    expectQuiet([/401 \(Unauthorized\)/]);
    await close();
  },
  patient.timeout * 3,
);

function hashOf(page: Page): string {
  return new URL(page.url()).hash;
}
