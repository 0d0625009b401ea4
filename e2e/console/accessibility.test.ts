import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type axe from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  drawerOf,
  keepScreen,
  launchBrowser,
  openPage,
  openSignedIn,
  recordRows,
  waitForRecord,
} from './lib/browser.ts';
import { bigLeaf, type FilledService, startFilled } from './lib/filled-service.ts';

let filled: FilledService;
let browser: Browser;
let axeSource: string;
beforeAll(async () => {
  axeSource = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  [filled, browser] = await Promise.all([startFilled(), launchBrowser()]);
});
afterAll(async () => {
  await browser?.close();
  await filled?.installation.remove();
});

/** What axe finds wrong, one line for each element. */
async function listFindings(page: Page): Promise<string[]> {
  const { violations } = await page.evaluate<axe.AxeResults>(
    `axe.run(document, { rules: { 'label-content-name-mismatch': { enabled: true } } })`,
  );
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id} ${target.join(' ')}: ${failureSummary}`),
  );
}

type Visit = (view: string, page: Page) => Promise<void>;

/** Every view there is, one after the other. */
async function visitViews(page: Page, visit: Visit): Promise<void> {
  await page.goto('/#/sign-in');
  await page.getByLabel('Access token').waitFor();
  await visit('sign-in', page);
  await openSignedIn(page, filled.service, '/records');
  await page.getByRole('treeitem').first().waitFor();
  await visit('records-start', page);
  await page.goto(`/#${bigLeaf}`);
  await recordRows(page).first().waitFor();
  await page.getByRole('treeitem', { selected: true }).waitFor();
  await visit('records-leaf', page);
  await recordRows(page).nth(3).click();
  await waitForRecord(page);
  await visit('records-drawer', page);
  await page.keyboard.press('Escape');
  await drawerOf(page).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'EXPORT CSV' }).click();
  await drawerOf(page).getByText('1,200', { exact: true }).waitFor();
  await visit('records-export', page);
  await page.keyboard.press('Escape');
  await drawerOf(page).waitFor({ state: 'detached' });
  await page.keyboard.press('?');
  await page.getByRole('dialog').waitFor();
  await visit('keys', page);
  await page.keyboard.press('Escape');
  await page.goto('/#/no-such-page');
  await page.getByRole('tree').waitFor({ state: 'detached' });
  await visit('not-found', page);
}

test.each(['light', 'dark'] as const)(
  'gives axe nothing to find on any view, %s',
  async (colorScheme) => {
    const options = { colorScheme, initScripts: [axeSource] };
    const { page, expectQuiet, close } = await openPage(browser, filled.service, options);
    const findings: Record<string, string[]> = {};
    await visitViews(page, async (view) => {
      await keepScreen(page, `${view}-${colorScheme}`);
      const found = await listFindings(page);
      if (found.length > 0) findings[view] = found;
    });
    expect(findings).toEqual({});
    expectQuiet();
    await close();
  },
);

test('needs no scrolling sideways at 400 % zoom', async () => {
  const options = { viewport: { width: 320, height: 640 } };
  const { page, expectQuiet, close } = await openPage(browser, filled.service, options);
  const widths: Record<string, number> = {};
  await visitViews(page, async (view) => {
    await keepScreen(page, `${view}-zoomed`);
    const width = await page.evaluate<number>('document.documentElement.scrollWidth');
    if (width > 320) widths[view] = width;
  });
  expect(widths).toEqual({});
  expectQuiet();
  await close();
});

test('shows what is chosen and focused in forced colours', async () => {
  const options = { forcedColors: 'active' as const };
  const { page, expectQuiet, close } = await openPage(browser, filled.service, options);
  await openSignedIn(page, filled.service, bigLeaf);
  await recordRows(page).first().waitFor();
  await page.getByRole('treeitem', { selected: true }).waitFor();
  const styleOf = (selector: string, property: string) =>
    page.evaluate<string>(
      `getComputedStyle(document.querySelector(${JSON.stringify(selector)})).${property}`,
    );
  const chosen = '[role="treeitem"][aria-selected="true"]';
  // Of what the page itself colours, forced colours would leave nothing to see.
  expect(await styleOf(chosen, 'forcedColorAdjust')).toBe('none');
  expect(await styleOf(chosen, 'backgroundColor')).not.toBe(
    await styleOf('[role="treeitem"][aria-selected="false"]', 'backgroundColor'),
  );
  await recordRows(page).first().focus();
  await page.keyboard.press('j');
  expect(await styleOf('tbody tr:focus', 'outlineStyle')).toBe('solid');
  await keepScreen(page, 'records-leaf-forced-colours');
  expectQuiet();
  await close();
});
