import type { Locator, Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { createJob, freezeVersion } from '../lib/exports.ts';
import { runRetention } from '../lib/retention.ts';
import { patient, recordRows, useConsole } from './lib/browser.ts';
import { bigLeaf, startFilled } from './lib/filled-service.ts';
import { quietRetention } from './lib/retention.ts';

const filled = useConsole(() => startFilled(quietRetention));
beforeAll(() => runRetention(filled.service, { tenant: 'CA' }));

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
  const page = await filled.open(leaf, { viewport: { width, height: 640 } });
  for (const [key, name] of [
    ['TX', 'TX'],
    ['TX/DFW', 'DFW'],
    ['TX/DFW/2001-03', '2001-03'],
  ] as const) {
    await page.locator(`[data-key="${key}"]`).scrollIntoViewIfNeeded();
    const { shown, cut } = await cellsOf(page, key);
    const coverage = width < 400 ? [] : [expect.stringMatching(/%/)];
    expect(shown).toEqual([name, expect.stringMatching(/^[\d,]+\s*records$/), ...coverage]);
    expect(cut).toEqual([]);
  }
  expect(await page.getByRole('separator', { name: 'Width of the tree' }).isVisible()).toBe(false);
});

test.each([320, 1024, 1440])(
  'shows the tier of a leaf beside its whole name %i px wide',
  async (width) => {
    const page = await filled.open('/records?open=CA/DFW', { viewport: { width, height: 640 } });
    await page.locator('[data-key="CA/DFW/2001-03"]').scrollIntoViewIfNeeded();
    const { shown, cut } = await cellsOf(page, 'CA/DFW/2001-03');
    expect(shown[0]).toMatch(/^2001-03\s*cold$/);
    expect(cut.join(' ')).not.toMatch(/2001-03|cold/);
  },
);

const widthOf = async (place: Locator) => (await place.boundingBox())?.width;
const pagesOf = (page: Page) => page.getByRole('navigation', { name: 'Pages' });

test.each([
  [1440, 208],
  [1024, 56],
])('has %i px wide a navigation of %i px', async (width, expected) => {
  const page = await filled.open(leaf, { viewport: { width, height: 768 } });
  expect(await widthOf(pagesOf(page))).toBe(expected);
  for (const [group, names] of [
    ['DATA & ADMIN', ['RECORDS', 'EXPORTS', 'RETENTION', 'WEBHOOK DLQ', 'INCIDENTS']],
    ['WEBHOOKS', ['DELIVERIES', 'ENDPOINTS']],
  ] as const) {
    const links = page.getByRole('list', { name: group }).getByRole('link');
    expect(await links.count()).toBe(names.length);
    for (const [index, name] of names.entries()) {
      expect(await links.nth(index).innerText()).toContain(name);
    }
  }
  // Where only icons have room, the name stands beside the one that is pointed at.
  const link = pagesOf(page).getByRole('link', { name: 'EXPORTS' });
  await link.hover();
  const opacity = `getComputedStyle(document.querySelector('a:hover > span')).opacity`;
  expect(await page.evaluate(opacity)).toBe('1');
  await link.click();
  await page.getByRole('heading', { name: 'EXPORTS', level: 1 }).waitFor();
});

test('has a menu of pages and tools on a phone', async () => {
  const page = await filled.open(leaf, { viewport: { width: 390, height: 844 } });
  expect(await pagesOf(page).isVisible()).toBe(false);
  const button = page.getByRole('button', { name: 'Menu' });
  await button.click();
  const menu = page.getByRole('dialog');
  await menu.getByRole('button', { name: 'Sign out' }).waitFor();
  await page.keyboard.press('Escape');
  await menu.waitFor({ state: 'detached' });
  const focused = `document.activeElement.getAttribute('aria-label')`;
  await expect.poll(() => page.evaluate(focused), patient).toBe('Menu');
  await button.click();
  await menu.getByRole('link', { name: 'RETENTION' }).click();
  await page.getByRole('heading', { name: 'RETENTION', level: 1 }).waitFor();
  await menu.waitFor({ state: 'detached' });
});

test('shows on a phone the chosen records first, and the tree as a screen to choose from', async () => {
  const page = await filled.open('/records?open=TX/DFW', { viewport: { width: 390, height: 844 } });
  await page.locator('[data-key="TX/DFW/2001-03"]').click();
  const node = page.getByRole('region', { name: 'The chosen node' });
  await node.getByText('1,200', { exact: true }).waitFor();
  expect((await node.boundingBox())?.y).toBeLessThan(100);
  expect(await page.getByRole('tree').isVisible()).toBe(false);
  await node.getByRole('button', { name: 'All tenants' }).click();
  const tree = page.getByRole('region', { name: 'Where the records are' });
  await page.getByRole('treeitem', { selected: true }).waitFor();
  expect(await widthOf(tree)).toBe(390);
  expect((await tree.boundingBox())?.height).toBeGreaterThan(740);
  expect(await node.isVisible()).toBe(false);
  await page.getByRole('button', { name: 'Back to the chosen records' }).click();
  await node.getByText('1,200', { exact: true }).waitFor();
  await node.getByRole('button', { name: 'All tenants' }).click();
  await page.locator('[data-key="TX/IAH"]').click();
  await node.getByRole('heading', { name: 'IAH' }).waitFor();
  expect(await page.getByRole('tree').isVisible()).toBe(false);
});

test('shows every list as cards on a phone, none of them wider than the page', async () => {
  await createJob(filled.service, 'csv', { tenant: 'CA' });
  const body = { tenant: 'TX', store: 'DFW', month: '2001-03', dataset: 'training' };
  await filled.service.call('POST', '/enrichment/tags', { body });
  await freezeVersion(filled.service, { tenant: 'TX', dataset: 'training', name: 'narrow' });
  const page = await filled.open('/records', { viewport: { width: 390, height: 844 } });
  const wide = `[...document.querySelectorAll('main *')]
    .filter((each) => each.checkVisibility() && each.getBoundingClientRect().right > 390)
    .filter((each) => each.closest('.visually-hidden, [data-drawer]') === null)
    .map((each) => each.outerHTML.slice(0, 80))`;
  for (const place of [
    bigLeaf,
    `${bigLeaf}&view=tags`,
    `${bigLeaf}&view=versions`,
    '/jobs',
    '/exports',
    '/retention',
    '/retention?view=journal',
  ]) {
    await page.goto(`/#${place}`);
    await page.locator('section[data-cards="true"]').waitFor();
    await recordRows(page).first().waitFor();
    expect(await page.evaluate(wide), place).toEqual([]);
  }
});

test('shows on a phone all views of ACCESS, and the table of rights whole', async () => {
  const page = await filled.open('/access?view=rights', { viewport: { width: 390, height: 844 } });
  const views = page.getByRole('group', { name: 'What of the access is shown' });
  const right = async (place: Locator) => {
    const box = await place.boundingBox();
    return box === null ? Number.NaN : box.x + box.width;
  };
  await views.getByRole('button', { name: 'RIGHTS', pressed: true }).waitFor();
  for (const view of await views.getByRole('button').all()) {
    expect(await right(view), await view.innerText()).toBeLessThanOrEqual(390);
  }
  expect(await right(page.getByRole('cell', { name: 'report incidents' }))).toBeLessThan(390);
  const table = page.getByRole('region', { name: 'Who may what' });
  expect(await table.evaluate((box) => box.scrollWidth - box.clientWidth)).toBe(0);
});

test('keeps what is done with a leaf in one row on a phone', async () => {
  const page = await filled.open('/records', { viewport: { width: 390, height: 844 } });
  await page.goto(`/#${bigLeaf}`);
  const top = async (name: string) => (await page.getByRole('button', { name }).boundingBox())?.y;
  await page.getByRole('button', { name: 'More actions' }).waitFor();
  expect(await top('More actions')).toBe(await top('EXPORT…'));
});

test('keeps the bar of ENDPOINTS in one row on a phone', async () => {
  const page = await filled.open('/endpoints', { viewport: { width: 390, height: 844 } });
  const top = async (name: string) => (await page.getByRole('button', { name }).boundingBox())?.y;
  await page.getByRole('button', { name: 'New endpoint' }).waitFor();
  expect(await top('New endpoint')).toBe(await top('Filter'));
});

test('keeps path and figures of the records in one row each on half a screen, and filters in two', async () => {
  const page = await filled.open(bigLeaf, { viewport: { width: 1024, height: 768 } });
  await recordRows(page).first().waitFor();
  // A figure that is just being drawn anew has no box.
  const bottomOf = async (place: Locator) => {
    const box = await place.boundingBox();
    return box === null ? Number.NaN : Math.round(box.y + box.height);
  };
  const expectOneRow = (a: Locator, b: Locator) =>
    expect.poll(async () => (await bottomOf(a)) - (await bottomOf(b)), patient).toBe(0);
  const node = page.getByRole('region', { name: 'The chosen node' });
  const figures = node.locator('dl > div');
  await expectOneRow(figures.last(), figures.nth(1));
  await expectOneRow(page.getByLabel('Dataset'), page.getByLabel('Kind, exactly'));
  const [days, where] = [
    page.getByLabel(/^Days by/),
    page.getByLabel('What must hold of a record'),
  ];
  await expectOneRow(days, where);
  expect((await bottomOf(days)) - (await bottomOf(page.getByLabel('Kind, exactly')))).toBe(38);
  const path = await node.getByRole('navigation').boundingBox();
  const link = await node.getByRole('button', { name: 'Copy link' }).boundingBox();
  expect(link?.y).toBeLessThan((path?.y ?? 0) + (path?.height ?? 0));
  const head = await bottomOf(page.locator('thead'));
  await page.getByLabel('Kind, exactly').fill('departure');
  await expectOneRow(page.getByRole('button', { name: 'Clear filters' }), days);
  expect(await bottomOf(page.locator('thead'))).toBe(head);
  const bytes = await page.getByRole('columnheader', { name: 'BYTES' }).boundingBox();
  expect((bytes?.x ?? 1024) + (bytes?.width ?? 0)).toBeLessThan(1024);
});

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
  const page = await filled.open(leaf);
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
});
