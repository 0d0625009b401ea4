import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { keepScreen, launchBrowser, openPage, openSignedIn, patient } from './lib/browser.ts';
import { type FilledService, startFilled } from './lib/filled-service.ts';
import { quietRetention, runRetention } from './lib/retention.ts';

let filled: FilledService;
let browser: Browser;
beforeAll(async () => {
  [filled, browser] = await Promise.all([startFilled(quietRetention), launchBrowser()]);
  await runRetention(filled.service, 'CA');
});
afterAll(async () => {
  await browser?.close();
  await filled?.installation.remove();
});

/** Texts of the row's cells that are shown, and those of them that are cut off. */
type Cells = { shown: string[]; cut: string[] };

const cellsOf = (page: Page, key: string) =>
  page.evaluate<Cells>(`(() => {
    const row = document.querySelector('[data-key="${key}"]');
    const shown = [...row.children].filter((cell) => cell.getClientRects().length > 0);
    const boxes = shown.flatMap((cell) => [cell, ...cell.querySelectorAll('span')]);
    const cut = boxes.filter(
      (box) => box.scrollWidth > box.clientWidth && !box.classList.contains('visually-hidden'),
    );
    const text = (box) => box.innerText.trim();
    return { shown: shown.map(text), cut: cut.map(text) };
  })()`);

const leaf = '/records?open=TX/DFW';

test.each([320, 400])('shows whole names and counts %i px wide', async (width) => {
  const options = { viewport: { width, height: 640 } };
  const { page, expectQuiet, close } = await openPage(browser, filled.service, options);
  await openSignedIn(page, filled.service, leaf);
  for (const [key, name] of [
    ['TX', 'TX'],
    ['TX/DFW', 'DFW'],
    ['TX/DFW/2001-03', '2001-03'],
  ] as const) {
    await page.locator(`[data-key="${key}"]`).scrollIntoViewIfNeeded();
    const { shown, cut } = await cellsOf(page, key);
    expect(shown).toEqual([name, expect.stringMatching(/^[\d,]+\s*records$/)]);
    expect(cut).toEqual([]);
  }
  expect(await page.getByRole('separator', { name: 'Width of the tree' }).isVisible()).toBe(false);
  await keepScreen(page, `tree-${width}px`);
  expectQuiet();
  await close();
});

test.each([320, 1440])(
  'shows the tier of a leaf beside its whole name %i px wide',
  async (width) => {
    const options = { viewport: { width, height: 640 } };
    const { page, expectQuiet, close } = await openPage(browser, filled.service, options);
    await openSignedIn(page, filled.service, '/records?open=CA/DFW');
    await page.locator('[data-key="CA/DFW/2001-03"]').scrollIntoViewIfNeeded();
    const { shown, cut } = await cellsOf(page, 'CA/DFW/2001-03');
    expect(shown[0]).toMatch(/^2001-03\s*cold$/);
    expect(cut.join(' ')).not.toMatch(/2001-03|cold/);
    expectQuiet();
    await close();
  },
);

const separatorOf = (page: Page) => page.getByRole('separator', { name: 'Width of the tree' });

/** The tree's width, as it is and as it is said. */
async function widthsOf(page: Page): Promise<[number, number]> {
  const box = await page.getByRole('region', { name: 'Where the records are' }).boundingBox();
  const said = await separatorOf(page).getAttribute('aria-valuenow');
  return [Math.round(box?.width ?? 0), Number(said)];
}

const expectWidth = (page: Page, px: number) =>
  expect.poll(() => widthsOf(page), patient).toEqual([px, px]);

test('makes the tree as wide as it is dragged, and remembers it', async () => {
  const { page, expectQuiet, close } = await openPage(browser, filled.service);
  await openSignedIn(page, filled.service, leaf);
  await page.locator('[data-key="TX/DFW"]').waitFor();
  const place = page.url();
  await expectWidth(page, 418);

  const box = await separatorOf(page).boundingBox();
  if (box === null) throw new Error('the separator has no box');
  const x = box.x + box.width / 2;
  await page.mouse.move(x, 400);
  await page.mouse.down();
  await page.mouse.move(x + 60, 420);
  await page.mouse.move(x + 100, 430);
  await page.mouse.up();
  await expectWidth(page, 518);
  await page.mouse.move(x, 300);
  await expectWidth(page, 518);

  await separatorOf(page).press('ArrowLeft');
  await expectWidth(page, 502);
  await page.reload();
  await page.locator('[data-key="TX/DFW"]').waitFor();
  await expectWidth(page, 502);
  await separatorOf(page).press('End');
  await expectWidth(page, 720);
  await separatorOf(page).press('Home');
  await expectWidth(page, 240);
  const { shown, cut } = await cellsOf(page, 'TX/DFW/2001-03');
  expect([shown.length, cut]).toEqual([2, []]);

  await separatorOf(page).dblclick();
  await expectWidth(page, 418);
  expect((await cellsOf(page, 'TX/DFW')).shown).toHaveLength(4);
  expect(page.url()).toBe(place);
  await page.reload();
  await page.locator('[data-key="TX/DFW"]').waitFor();
  await expectWidth(page, 418);
  expectQuiet();
  await close();
});
