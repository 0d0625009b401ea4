import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import {
  drawerOf,
  patient,
  recordRows,
  signIn,
  treeNode,
  useConsole,
} from '../../console/lib/browser.ts';
import { type EveryKind, everyKindSettings, makeEveryKind } from '../../console/lib/every-kind.ts';
import { bigLeaf, startFilled } from '../../console/lib/filled-service.ts';
import { quietRetention } from '../../console/lib/retention.ts';

const filled = useConsole(() =>
  startFilled({ ...quietRetention, ...everyKindSettings }, 'cluster'),
);
let ids: EveryKind;
beforeAll(async () => {
  ids = await makeEveryKind(filled.service);
});

const hashOf = (page: Page) => decodeURIComponent(new URL(page.url()).hash);
const expectHash = (page: Page, hash: string) =>
  expect.poll(() => hashOf(page), patient).toBe(`#${hash}`);
const expectPanel = (page: Page, title: RegExp) =>
  drawerOf(page).getByRole('heading', { level: 2, name: title }).waitFor();
const noPanel = (page: Page) => drawerOf(page).waitFor({ state: 'detached' });
const press = (name: string | RegExp) => (page: Page) =>
  page.getByRole('button', { name }).first().click();
const openFirst = (page: Page) => recordRows(page).first().press('Enter');

const versions = '/records?tenant=TX&view=versions';

type Case = { place: string; panel: string; title: RegExp; open: (page: Page) => Promise<void> };

/** Every panel: the page, what opens it there, and its heading. */
const cases = (): readonly Case[] => [
  { place: bigLeaf, panel: 'record/TX/DFW/', title: /^RECORD DFW-/, open: openFirst },
  { place: bigLeaf, panel: 'export', title: /^EXPORT TX › DFW › 2001-03/, open: press('EXPORT…') },
  { place: bigLeaf, panel: 'tag', title: /^TAG DAYS OF TX › DFW/, open: press('TAG…') },
  { place: versions, panel: 'freeze', title: /^FREEZE A DATASET OF TX/, open: press('FREEZE…') },
  { place: versions, panel: `version/${ids.version}`, title: /^VERSION spring/, open: openFirst },
  {
    place: versions,
    panel: `export/${ids.version}`,
    title: /^EXPORT TX spring/,
    open: press('EXPORT spring'),
  },
  { place: '/exports', panel: 'new-export', title: /^NEW EXPORT/, open: press('New export') },
  { place: '/exports', panel: `export/${ids.export}`, title: /^EXPORT TX/, open: openFirst },
  { place: '/retention', panel: 'tenant/TX', title: /^TENANT TX/, open: openFirst },
  {
    place: '/retention',
    panel: 'tenant/*',
    title: /^DEFAULT POLICY/,
    open: press(/^Default policy/i),
  },
  {
    place: '/retention',
    panel: 'iceberg',
    title: /^ICEBERG TABLE svcctl.records/,
    open: press(/^Iceberg table/i),
  },
  {
    place: '/retention?view=journal',
    panel: `move/${ids.move}`,
    title: /^MOVE mov_/,
    open: openFirst,
  },
  {
    place: '/retention',
    panel: `verification/${ids.verification}`,
    title: /^VERIFICATION vrf_/,
    open: press(/^CA: /),
  },
  { place: '/dlq', panel: `delivery/${ids.delivery}`, title: /^DELIVERY dlv_/, open: openFirst },
  {
    place: '/deliveries',
    panel: `delivery/${ids.delivery}`,
    title: /^DELIVERY dlv_/,
    open: openFirst,
  },
  { place: '/incidents', panel: `inc/${ids.incident}`, title: /^INCIDENT inc_/, open: openFirst },
  {
    place: '/endpoints',
    panel: `endpoint/${ids.endpoint}`,
    title: /^ENDPOINT \w/,
    open: openFirst,
  },
  {
    place: '/endpoints',
    panel: 'endpoint/new',
    title: /^NEW ENDPOINT/,
    open: press('New endpoint'),
  },
];

/** Each panel is opened five times. */
const longMillis = 240_000;

test('every panel has an address: a reload and a link open it, and Back closes it', {
  timeout: longMillis,
}, async () => {
  const page = await filled.open('/records');
  for (const { place, panel, title, open } of cases()) {
    await page.goto(`/#${place}`);
    await noPanel(page);
    await open(page);
    await expectPanel(page, title);
    expect(hashOf(page), place).toContain(`panel=${panel}`);
    const address = page.url();
    await page.goBack();
    await noPanel(page);
    expect(hashOf(page), place).not.toContain('panel=');
    await page.goForward();
    await expectPanel(page, title);
    await page.reload();
    await expectPanel(page, title);
    // Closing goes back by the step that opened the panel, also after a reload, and from a link in it.
    const steps = await page.evaluate<number>('history.length');
    const link = drawerOf(page).getByRole('link').first();
    if ((await link.count()) > 0) await link.focus();
    await page.keyboard.press('Escape');
    await noPanel(page);
    expect(hashOf(page), place).not.toContain('panel=');
    expect(await page.evaluate<number>('history.length')).toBe(steps);

    await page.goto('/#/no-such-page');
    await page.getByText('There is no such page').waitFor();
    await page.goto(address);
    await expectPanel(page, title);
    await drawerOf(page)
      .getByRole('button', { name: /^Close/ })
      .click();
    await noPanel(page);
    expect(hashOf(page), place).not.toContain('panel=');
  }
});

test('the questions before a run and before a bulk retry have addresses, too', async () => {
  const page = await filled.open('/records');
  for (const [place, name] of [
    ['/retention?panel=run', 'Run for all tenants'],
    ['/retention?panel=run/TX', 'Run for TX'],
    ['/dlq?panel=retry', 'Retry all'],
  ] as const) {
    await page.goto(`/#${place}`);
    await page.getByRole('dialog', { name }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await expectHash(page, place.replace(/\?.*/, ''));
  }
  // The question leads back to the panel that asked it.
  await page.goto('/#/retention?panel=tenant/TX');
  await drawerOf(page).getByRole('button', { name: 'RUN NOW…' }).click();
  await page.getByRole('dialog', { name: 'Run for TX' }).waitFor();
  await page.goBack();
  await expectPanel(page, /^TENANT TX/);
});

test('what a panel shows follows the selection', async () => {
  const page = await filled.open(`${bigLeaf}&panel=export`);
  await drawerOf(page).getByText('1,200', { exact: true }).waitFor();
  await treeNode(page, 'CA').click();
  await expectPanel(page, /^EXPORT CA$/);
  await drawerOf(page).getByText('1,200', { exact: true }).waitFor();

  await page.goto(`/#${bigLeaf}&panel=tag`);
  const form = drawerOf(page);
  await form.getByRole('button', { name: 'TAG 1,200 records' }).waitFor();
  await form.getByLabel('Note').fill('kept');
  await page
    .getByRole('treeitem', { name: /^2001-02/ })
    .first()
    .click();
  const days = form.getByLabel(/^Days by UTC/);
  await expect.poll(() => days.inputValue(), patient).toBe('2001-02');
  await form.getByRole('button', { name: 'TAG 200 records' }).waitFor();
  expect(await form.getByLabel('Note').inputValue()).toBe('kept');
  // What it was closed at is where closing leaves the page: the panel was opened by a link.
  await page.keyboard.press('Escape');
  await noPanel(page);
  expect(hashOf(page)).toContain('month=2001-02');

  await page.goto('/#/retention?panel=tenant/CA');
  await expectPanel(page, /^TENANT CA/);
  const row = page.locator('tr[data-key="CA"]');
  await row.focus();
  await page.keyboard.press('k');
  await expectPanel(page, /^TENANT TX/);
  expect(hashOf(page)).toContain('panel=tenant/TX');
  // The focus stays in the list, so that one can go on.
  await page.locator('tr[data-key="TX"]:focus').waitFor();
  await page.locator('tr[data-key="CA"]').click();
  await expectPanel(page, /^TENANT CA/);
});

test('closing a panel that was opened at another node stays at this one', async () => {
  const page = await filled.open('/records?tenant=TX');
  await page.getByRole('button', { name: 'EXPORT…' }).click();
  await expectPanel(page, /^EXPORT TX$/);
  await treeNode(page, 'CA').click();
  await expectPanel(page, /^EXPORT CA$/);
  await page.keyboard.press('Escape');
  await noPanel(page);
  await page.getByRole('heading', { name: 'CA', exact: true }).waitFor();
});

const boxOf = async (page: Page, selector: string) => {
  const box = await page.locator(selector).boundingBox();
  if (box === null) throw new Error(`${selector} has no box`);
  return { ...box, right: box.x + box.width };
};

test.each([
  [1600, 'beside'],
  [1440, 'over'],
  [1280, 'over'],
  [1024, 'over'],
  [390, 'instead of'],
])('%i px wide a panel lies %s the page', async (width, where) => {
  const page = await filled.openBlank({ viewport: { width, height: 844 } });
  await page.goto(`/#${bigLeaf}&panel=tag`);
  await signIn(page, filled.service.token);
  await expectPanel(page, /^TAG DAYS/);
  const [panel, main] = [await boxOf(page, 'aside[data-drawer]'), await boxOf(page, 'main#page')];
  expect(Math.round(panel.right)).toBe(width);
  if (where === 'beside') expect(panel.x).toBeGreaterThanOrEqual(main.right);
  if (where === 'over') expect(panel.x).toBeLessThan(main.right - 300);
  if (where === 'instead of') expect(panel).toMatchObject({ x: 0, y: 0, width, height: 844 });
  const edge = page.getByRole('separator', { name: 'Width of the panel' });
  expect(await edge.isVisible()).toBe(width > 1280);
});

test('the buttons of an endpoint stand in one line of a panel of 460 px', async () => {
  const page = await filled.open('/endpoints', { viewport: { width: 1394, height: 844 } });
  await recordRows(page).first().press('Enter');
  const topOf = async (name: RegExp) =>
    (await drawerOf(page).getByRole('button', { name }).boundingBox())?.y;
  await drawerOf(page).getByRole('button', { name: 'Ping' }).waitFor();
  expect((await boxOf(page, 'aside[data-drawer]')).width).toBeCloseTo(460, 0);
  expect(await topOf(/^Delete/)).toBe(await topOf(/^Ping/));
});

test('a panel is as wide as it is dragged, on every page and after a reload', async () => {
  const page = await filled.open(`${bigLeaf}&panel=tag`);
  const edge = page.getByRole('separator', { name: 'Width of the panel' });
  const widths = async () => [
    Math.round((await boxOf(page, 'aside[data-drawer]')).width),
    Number(await edge.getAttribute('aria-valuenow')),
  ];
  const expectWidth = (px: number) => expect.poll(widths, patient).toEqual([px, px]);
  await expectWidth(475);
  const box = await boxOf(page, 'hr[aria-label="Width of the panel"]');
  const x = box.x + box.width / 2;
  await page.mouse.move(x, 400);
  await page.mouse.down();
  await page.mouse.move(x - 40, 420);
  await page.mouse.move(x - 100, 430);
  await page.mouse.up();
  await expectWidth(575);
  await edge.press('ArrowRight');
  await expectWidth(559);
  await page.reload();
  await expectWidth(559);
  await page.goto('/#/endpoints?panel=endpoint/new');
  await expectPanel(page, /^NEW ENDPOINT/);
  await expectWidth(559);
  await edge.press('End');
  await expectWidth(720);
  await edge.press('Home');
  await expectWidth(360);
  await edge.dblclick();
  await expectWidth(475);
});

test('a link to a panel says which scope a token lacks for it', async () => {
  const body = { name: 'reader', scopes: ['enrichment:read'] };
  const { token } = (await filled.service.call('POST', '/tokens', { body })).json;
  const page = await filled.open(`${bigLeaf}&panel=export`, { token });
  await drawerOf(page).getByText('Your token lacks the scope analytics:read.').waitFor();
  expect(await page.getByRole('button', { name: /^(START|SAVE AS)/ }).count()).toBe(0);
});

test('on a phone the focus goes on to the records of the first node that is chosen', async () => {
  const page = await filled.open('/records', { viewport: { width: 390, height: 844 } });
  for (const key of ['CA', 'TX']) {
    await page.locator(`[data-key="${key}"]`).click();
    await page.getByRole('heading', { name: key, exact: true }).waitFor();
    const isThere = `document.activeElement.contains(document.querySelector('h2[aria-current]'))
      && document.activeElement !== document.body`;
    await expect.poll(() => page.evaluate<boolean>(isThere), patient).toBe(true);
    await page.getByRole('button', { name: 'All tenants' }).click();
  }
});
