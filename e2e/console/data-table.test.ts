import { readFile } from 'node:fs/promises';
import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { readCsv } from '../../packages/server/test/csv.ts';
import { listFindings } from './lib/axe.ts';
import {
  type PageOptions,
  patient,
  pollMillis,
  recordRows as rowsOf,
  signIn,
  useConsole,
} from './lib/browser.ts';
import {
  abandonedCount,
  pendingCount,
  reportIncidents,
  startWebhookService,
  waitForCounts,
} from './lib/webhook-service.ts';

const webhooks = useConsole(startWebhookService);

/** Opens the dead-letter queue in a window where all its columns have room. */
function openQueue(options: PageOptions = {}): Promise<Page> {
  const size = { width: 1600, height: 900 };
  return webhooks.openList('/dlq', { viewport: size, ...options });
}

const head = (page: Page, name: string) => page.getByRole('columnheader', { name, exact: true });

/** The names of the columns as they stand. */
const namesOf = (page: Page) => page.locator('thead th[data-column]').allInnerTexts();

const ownNames = [
  ...['ID', 'IDEMPOTENCY KEY', 'TARGET', 'ATTEMPTS', 'LAST STATUS', 'NEXT RETRY', 'ERROR'],
  ...['TENANT', 'EVENT', 'FAILED'],
];

const widthOf = async (place: Locator) => Math.round((await place.boundingBox())?.width ?? 0);

const openMenu = (page: Page) => page.getByRole('button', { name: 'Columns', exact: true }).click();
const menuOf = (page: Page) => page.getByRole('dialog', { name: 'Columns', exact: true });

/** The box in the menu that shows or hides a column. */
const boxOf = (page: Page, name: string) =>
  menuOf(page).getByRole('checkbox', { name, exact: true });

/** Drags the edge of a column by so many pixels. */
async function dragEdge(page: Page, name: string, px: number): Promise<void> {
  const box = await head(page, name).locator('[data-side]').boundingBox();
  if (box === null) throw new Error(`${name} has no edge`);
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x + px / 2, y);
  await page.mouse.move(x + px, y);
  await page.mouse.up();
}

async function reload(page: Page): Promise<void> {
  await page.reload();
  await rowsOf(page).first().waitFor();
}

test('resizes a column by its edge, which stays under the mouse, and remembers the width', async () => {
  const page = await openQueue();
  const [id, status] = [head(page, 'ID'), head(page, 'LAST STATUS')];
  const before = [await widthOf(id), await widthOf(status)] as const;
  await dragEdge(page, 'ID', 40);
  // Behind the main column, which gives the room, the edge is at the other side.
  await dragEdge(page, 'LAST STATUS', -30);
  const after = [before[0] + 40, before[1] + 30];
  expect([await widthOf(id), await widthOf(status)]).toEqual(after);
  const cell = rowsOf(page).first().getByRole('cell').nth(1);
  expect(await widthOf(cell)).toBe(after[0]);
  await reload(page);
  expect([await widthOf(id), await widthOf(status)]).toEqual(after);
  await id.locator('[data-side]').dblclick();
  await expect.poll(() => widthOf(id), patient).toBe(before[0]);
});

test('goes through the head by arrow keys, which also change widths and places', async () => {
  const page = await openQueue();
  await head(page, 'ID').focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await page.locator('th[data-column="attempts"]:focus').waitFor();
  const before = await widthOf(head(page, 'ATTEMPTS'));
  await page.keyboard.press('Shift+ArrowRight');
  await page.keyboard.press('Shift+ArrowRight');
  await page.keyboard.press('Shift+ArrowLeft');
  expect(await widthOf(head(page, 'ATTEMPTS'))).toBe(before + 16);
  await page.getByText(`ATTEMPTS: ${before + 16} pixels wide`).waitFor({ state: 'attached' });
  await page.keyboard.press('Alt+ArrowRight');
  const moved = ownNames.toSpliced(3, 2, 'LAST STATUS', 'ATTEMPTS');
  expect(await namesOf(page)).toEqual(moved);
  await page.locator('th[data-column="attempts"]:focus').waitFor();
  // The head is one tab stop, and the button for the columns is the next.
  await page.keyboard.press('Tab');
  await page
    .getByRole('button', { name: 'Columns', exact: true })
    .and(page.locator(':focus'))
    .waitFor();
  await reload(page);
  expect(await namesOf(page)).toEqual(moved);
});

test('hides and moves columns in the menu, remembers that, and restores its own', async () => {
  const page = await openQueue();
  expect(await namesOf(page)).toEqual(ownNames);
  await openMenu(page);
  const menu = menuOf(page);
  await boxOf(page, 'IDEMPOTENCY KEY').uncheck();
  expect(await boxOf(page, 'TARGET').isDisabled()).toBe(true);
  const up = menu.getByRole('button', { name: 'Move FAILED up' });
  await up.click();
  await up.press('Enter');
  const changed = [...ownNames.slice(0, 1), ...ownNames.slice(2, 7), 'FAILED', 'TENANT', 'EVENT'];
  await expect.poll(() => namesOf(page), patient).toEqual(changed);
  await page.keyboard.press('Escape');
  await reload(page);
  expect(await namesOf(page)).toEqual(changed);
  await openMenu(page);
  await menu.getByRole('button', { name: 'Reset columns' }).click();
  await expect.poll(() => namesOf(page), patient).toEqual(ownNames);
  await reload(page);
  expect(await namesOf(page)).toEqual(ownNames);
});

test('moves a column that is dragged by its name', async () => {
  const page = await openQueue();
  await head(page, 'TENANT').dragTo(head(page, 'ID'));
  await expect
    .poll(() => namesOf(page), patient)
    .toEqual(['TENANT', ...ownNames.filter((name) => name !== 'TENANT')]);
});

test('keeps what is stored for columns that it does not have', async () => {
  const stored = {
    version: 1,
    order: ['later', 'error', 'id'],
    shown: { later: false },
    widths: {},
  };
  const content = `localStorage.setItem('svcctl.table.dead-letters', '${JSON.stringify(stored)}')`;
  const page = await openQueue({ initScripts: [content] });
  expect((await namesOf(page))[0]).toBe('ERROR');
  await head(page, 'ERROR').focus();
  await page.keyboard.press('Shift+ArrowRight');
  const text = await page.evaluate<string>(
    `Object.entries(localStorage).find(([key]) => key.startsWith('svcctl.table.dead-letters@'))[1]`,
  );
  expect(JSON.parse(text)).toMatchObject({ order: stored.order, shown: stored.shown });

  // A reset is of one person: it leaves the layout of before to the others of this browser, and holds.
  await openMenu(page);
  const reset = menuOf(page).getByRole('button', { name: 'Reset columns' });
  await reset.click();
  await expect.poll(() => namesOf(page), patient).toEqual(ownNames);
  const shared = await page.evaluate<string>(`localStorage.getItem('svcctl.table.dead-letters')`);
  expect(JSON.parse(shared)).toEqual(stored);
  await reload(page);
  expect(await namesOf(page)).toEqual(ownNames);
  await openMenu(page);
  await boxOf(page, 'TARGET').waitFor();
  expect(await reset.isDisabled()).toBe(true);
});

test('keeps the columns of two people of one name apart, and takes over what was kept by the name', async () => {
  const { service } = webhooks;
  const makeToken = async () => {
    const body = { name: 'night shift', preset: 'admin' };
    return (await service.call('POST', '/tokens', { body })).json.token as string;
  };
  const page = await webhooks.openBlank({ viewport: { width: 1600, height: 900 } });
  const stored = { version: 1, order: ['error', 'id'], shown: {}, widths: {} };
  await webhooks.openIn(page, '/', await makeToken());
  await page.evaluate(
    `localStorage.setItem('svcctl.table.dead-letters@night shift', '${JSON.stringify(stored)}')`,
  );
  await page.goto('/#/dlq');
  await rowsOf(page).first().waitFor();
  expect((await namesOf(page))[0]).toBe('ERROR');
  await reload(page);
  expect((await namesOf(page))[0]).toBe('ERROR');

  await page.context().clearCookies();
  await page.reload();
  await signIn(page, await makeToken());
  await rowsOf(page).first().waitFor();
  expect(await namesOf(page)).toEqual(ownNames);
});

test('moves no row while somebody is at the list, until they ask for the new order', async () => {
  const { service } = webhooks;
  const page = await webhooks.openList('/endpoints', { hasClock: true });
  const shown = () =>
    rowsOf(page).evaluateAll((rows) => rows.map((row) => row.getAttribute('data-key')));
  const sorted = async () => {
    const { data } = (await service.call('GET', '/webhook/endpoints?order=health')).json;
    return data.map(({ id }: { id: string }) => id);
  };
  const change = (id: string | null | undefined, enabled: boolean) =>
    service.call('PATCH', `/webhook/endpoints/${id}`, { body: { enabled } });
  const disabled = rowsOf(page).filter({ hasText: 'disabled' });
  const first = await shown();
  await rowsOf(page).first().hover();
  await change(first[0], false);
  await page.clock.fastForward(pollMillis);
  await disabled.waitFor();
  expect(await sorted()).not.toEqual(first);
  expect(await shown()).toEqual(first);
  const adopt = page.getByRole('button', { name: 'NEW ORDER' });
  await adopt.click();
  const second = await sorted();
  expect(await shown()).toEqual(second);
  await adopt.waitFor({ state: 'detached' });

  // A row that has the focus holds them as well. Once nobody is there, they go where they belong.
  await rowsOf(page).first().focus();
  await change(second[0], false);
  await page.clock.fastForward(pollMillis);
  await disabled.nth(1).waitFor();
  expect(await sorted()).not.toEqual(second);
  expect(await shown()).toEqual(second);
  await page.locator('#page').focus();
  await page.clock.fastForward(pollMillis);
  await expect.poll(shown, patient).toEqual(await sorted());
  expect(await adopt.count()).toBe(0);
  for (const id of [first[0], second[0]]) await change(id, true);
});

test('copies and downloads what is shown as CSV', async () => {
  const page = await openQueue();
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await openMenu(page);
  await boxOf(page, 'LAST STATUS').uncheck();
  await menuOf(page).getByRole('button', { name: 'Copy as CSV' }).click();
  await page.getByText(/^Copied \d+ rows as CSV/).waitFor();
  const copied = await page.evaluate<string>('navigator.clipboard.readText()');
  const [names, ...rows] = readCsv(copied, '\r\n');
  expect(names).toEqual(ownNames.filter((name) => name !== 'LAST STATUS'));
  expect(rows).toHaveLength(await rowsOf(page).count());
  const { json } = await webhooks.service.call('GET', '/webhook/dlq?status=abandoned');
  const [first] = json.data;
  expect(rows[0]).toEqual([
    ...[first.id, first.idempotency_key, first.target, '1 of 1', 'parked', first.error],
    ...[first.tenant, first.event_type, first.last_attempt_at],
  ]);
  const coming = page.waitForEvent('download');
  await menuOf(page).getByRole('button', { name: 'Download CSV' }).click();
  const download = await coming;
  expect(download.suggestedFilename()).toMatch(/^dead-letters-\d{4}-\d\d-\d\d\.csv$/);
  expect(await readFile(await download.path(), 'utf8')).toBe(`\ufeff${copied}`);
});

test('selects by Space, and keeps actions in sight when columns need more room', async () => {
  const page = await openQueue({ viewport: { width: 1024, height: 768 } });
  // Before a target is cut, or whose it is and when it failed leave, those leave that tell least.
  const least = ['IDEMPOTENCY KEY', 'NEXT RETRY', 'EVENT'];
  expect(await namesOf(page)).toEqual(ownNames.filter((name) => !least.includes(name)));
  await rowsOf(page).first().focus();
  await page.keyboard.press('Space');
  await page.getByRole('button', { name: 'Retry 1 selected' }).waitFor();
  await openMenu(page);
  for (const name of least) await boxOf(page, name).check();
  await page.keyboard.press('Escape');
  const table = page.getByRole('region', { name: 'Dead letters' });
  expect(await table.evaluate((at) => at.scrollWidth > at.clientWidth)).toBe(true);
  const retry = rowsOf(page).first().getByRole('button', { name: 'RETRY' });
  const box = await retry.boundingBox();
  expect((box?.x ?? 1024) + (box?.width ?? 0)).toBeLessThan(1024);
});

test('shows its lists as cards on a phone, none of them wider than the page', async () => {
  const page = await openQueue({ viewport: { width: 390, height: 844 } });
  for (const place of ['/dlq', '/dlq?view=groups', '/deliveries', '/incidents', '/endpoints']) {
    await page.goto(`/#${place}`);
    const list = page.locator('section[data-cards="true"]');
    await list.waitFor();
    await rowsOf(page).first().waitFor();
    expect(await list.evaluate((at) => at.scrollWidth <= at.clientWidth), place).toBe(true);
  }
});

test('shows the filters of a phone once they are asked for, and how many are set', async () => {
  const page = await openQueue({ viewport: { width: 390, height: 844 } });
  const tenant = page.getByLabel('Tenant, exactly');
  expect(await tenant.isVisible()).toBe(false);
  const bar = page.getByRole('button', { name: 'Filter', exact: true });
  const all = page.getByRole('button', { name: 'Retry all…' });
  expect((await bar.boundingBox())?.y).toBe((await all.boundingBox())?.y);
  await bar.click();
  await tenant.fill('acme');
  await page.getByRole('button', { name: 'Filter · 1' }).click();
  await expect.poll(() => rowsOf(page).count(), patient).toBe(15);
  expect(await tenant.isVisible()).toBe(false);
});

test('says how often it reads again what is looked for row by row', async () => {
  const page = await webhooks.openList('/deliveries?tenant=acme');
  await page.getByText('every 15 s').waitFor();
  for (const place of ['/deliveries?status=abandoned', '/incidents?type=incident.created']) {
    await page.goto(`/#${place}`);
    await page.getByText('every 600 s').waitFor();
  }
});

test('pages back the way that was taken, also after a reload and a step of the browser', async () => {
  const page = await webhooks.openBlank({ viewport: { width: 1920, height: 900 } });
  // Pages of ten rows in place of a hundred.
  await page.route('**/webhook/deliveries?*', (route) =>
    route.continue({ url: route.request().url().replace('limit=100', 'limit=10') }),
  );
  await webhooks.openIn(page, '/deliveries');
  const firsts: string[] = [];
  const press = (name: string) => page.getByRole('button', { name }).click();
  const untilAt = (index: number) =>
    page.locator(`tbody tr[data-key="${firsts[index]}"]:first-child`).waitFor();
  for (let index = 0; index < 3; index += 1) {
    await rowsOf(page).first().waitFor();
    await page.locator('section[data-waiting="false"]').waitFor();
    firsts.push((await rowsOf(page).first().getAttribute('data-key')) ?? '');
    if (index === 2) break;
    await press('NEXT ›');
    await page.locator(`tr[data-key="${firsts[index]}"]`).waitFor({ state: 'detached' });
  }
  await rowsOf(page).first().click();
  await page.getByRole('button', { name: 'Close delivery' }).waitFor();
  await page.reload();
  await press('‹ PREV');
  await untilAt(1);
  await page.goBack();
  await untilAt(2);
  await press('‹ PREV');
  await untilAt(1);
  await press('‹ PREV');
  await untilAt(0);
  expect(await page.getByRole('button', { name: '‹ PREV' }).isDisabled()).toBe(true);
});

/** The fields of the filters that are seen. */
const fieldsOf = (page: Page) =>
  page.locator('fieldset[aria-label^="Filters of"] :is(input, select):visible');

test('has three filters at most above a list, and the others with a button', async () => {
  const page = await openQueue();
  const lists = ['/dlq', '/deliveries', '/incidents', '/endpoints', '/jobs', '/exports'];
  for (const place of [...lists, '/access?view=audit', '/retention?view=journal']) {
    await page.goto(`/#${place}`);
    await fieldsOf(page).first().waitFor();
    expect(await fieldsOf(page).count(), place).toBeLessThanOrEqual(3);
  }
  await page.goto('/#/deliveries');
  await page.getByRole('button', { name: 'More filters' }).press('Enter');
  await page.keyboard.press('Tab');
  const endpoint = page.getByLabel('Endpoint', { exact: true });
  await endpoint.and(page.locator(':focus')).waitFor();
  await page.getByRole('button', { name: 'Fewer filters' }).press('Enter');
  await endpoint.waitFor({ state: 'hidden' });
});

test('says of each filter that a link sets what it is, and removes it by its ×', async () => {
  const page = await openQueue();
  const { data } = (await webhooks.service.call('GET', '/webhook/endpoints?tenant=acme')).json;
  const [{ id, url }] = data;
  await page.goto(`/#/deliveries?tenant=acme&endpoint=${id}&class=dns&from=2001-01-01`);
  const chip = (text: string) =>
    page.getByRole('button', { name: `${text} ×, remove this filter` });
  await chip(`Endpoint acme · ${url.replace('http://', '')}`).click();
  await page.waitForURL(/tenant=acme&class=dns&from=2001-01-01$/);
  await chip('Days 2001-01-01..').click();
  await page.waitForURL(/tenant=acme&class=dns$/);
  // What only links set has no field.
  await page.goto('/#/deliveries?job=rtry_0123456789abcdef&outcome=delivered');
  await chip('Outcome delivered').waitFor();
  await page.getByRole('button', { name: 'More filters' }).click();
  expect(await page.getByRole('textbox', { name: /^Job/ }).count()).toBe(0);
  await chip('Job rtry…cdef').click();
  await page.waitForURL(/deliveries$/);
});

test('filters the queue by what failed', async () => {
  const { service, receiver } = webhooks;
  receiver.answer(302);
  await reportIncidents(service, 'acme', 3);
  await waitForCounts(service, abandonedCount + 3, pendingCount);
  const page = await openQueue();
  await page.getByRole('button', { name: 'More filters' }).click();
  const failure = page.getByLabel('Failure', { exact: true });
  await failure.selectOption('redirect');
  await page.waitForURL(/failure=redirect/);
  await expect.poll(() => rowsOf(page).count(), patient).toBe(3);
  await failure.selectOption('status');
  await expect.poll(() => rowsOf(page).count(), patient).toBe(abandonedCount + pendingCount);
});

test('gives axe nothing to find', async () => {
  const page = await openQueue();
  await head(page, 'ID').focus();
  await openMenu(page);
  await menuOf(page).waitFor();
  expect(await listFindings(page)).toEqual([]);
  await page.setViewportSize({ width: 390, height: 844 });
  await openMenu(page);
  await page.locator('[data-cards="true"]').waitFor();
  expect(await listFindings(page, { only: 'light' })).toEqual([]);
});
