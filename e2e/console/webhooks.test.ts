import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { listFindings, readAxe } from './lib/axe.ts';
import {
  drawerOf,
  keepScreen,
  launchBrowser,
  openPage,
  patient,
  recordRows as rowsOf,
  signIn,
} from './lib/browser.ts';
import {
  abandonedCount,
  openWebhooks,
  pendingCount,
  startWebhookService,
  type WebhookService,
  waitForCounts,
} from './lib/webhook-service.ts';

let webhooks: WebhookService;
let browser: Browser;
let axeSource: string;
beforeAll(async () => {
  [axeSource, webhooks, browser] = await Promise.all([
    readAxe(),
    startWebhookService(),
    launchBrowser(),
  ]);
});
afterAll(async () => {
  await webhooks?.remove();
});

const total = abandonedCount + pendingCount;

/** The number beside ABANDONED or PENDING. */
const countOf = (page: Page, status: 'abandoned' | 'pending') =>
  page.locator('button[aria-pressed] strong').nth(status === 'abandoned' ? 0 : 1);

const messages = (page: Page) => page.getByRole('status', { name: 'Messages' });

const retryOf = (page: Page) => drawerOf(page).getByRole('button', { name: 'RETRY' });

const attempts = (page: Page) => page.getByRole('heading', { name: 'ATTEMPTS' });

async function openQueue(page: Page, place = '/dlq'): Promise<void> {
  await openWebhooks(page, webhooks.service, place);
  await rowsOf(page).first().waitFor();
}

async function keyOf(page: Page, row: number): Promise<string> {
  return (await rowsOf(page).nth(row).getAttribute('data-key')) ?? '';
}

/** The heading that names a list of the navigation. */
async function groupOf(page: Page, list: Locator): Promise<string> {
  const id = await list.getAttribute('aria-labelledby');
  return page.locator(`[id="${id}"]`).innerText();
}

test('tells who lacks admin what is needed, and asks the API for nothing', async () => {
  const body = { name: 'reader', preset: 'support-readonly' };
  const made = await webhooks.service.call('POST', '/tokens', { body });
  const { page, expectQuiet, close } = await openPage(browser, webhooks.service);
  const asked: string[] = [];
  page.on('request', (request) => asked.push(request.url()));
  await page.goto('/#/dlq');
  await signIn(page, made.json.token);
  for (const name of ['WEBHOOK DLQ', 'DELIVERIES', 'ENDPOINTS']) {
    const list = page.getByRole('list').filter({ has: page.getByRole('link', { name }) });
    const link = page.getByRole('link', { name });
    const said = name === 'WEBHOOK DLQ' ? await link.innerText() : await groupOf(page, list);
    expect(said).toContain('ADMIN ONLY');
    await link.click();
    await page.getByRole('heading', { name, level: 1 }).waitFor();
    await page.getByRole('heading', { name: 'This page needs the scope admin' }).waitFor();
    expect(await page.locator('header').first().innerText()).toContain('ADMIN ONLY');
  }
  expect(asked.filter((url) => url.includes('/webhook/'))).toEqual([]);
  expectQuiet();
  await close();
});

test('asks once for each status and shows rows with cut ids that are whole on hover and copy', async () => {
  const { page, expectQuiet, close } = await openPage(browser, webhooks.service);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  const asked: URL[] = [];
  page.on('request', (request) => asked.push(new URL(request.url())));
  await openQueue(page);
  await rowsOf(page)
    .nth(total - 1)
    .waitFor();
  const lists = asked.filter(({ pathname }) => pathname.endsWith('/webhook/dlq'));
  const statuses = lists.map(({ searchParams }) => searchParams.get('status'));
  expect(statuses).toHaveLength(2);
  expect(new Set(statuses)).toEqual(new Set(['abandoned', 'pending']));
  expect(lists.map(({ searchParams }) => searchParams.get('limit'))).toEqual(['200', '200']);
  expect(await countOf(page, 'abandoned').innerText()).toBe(String(abandonedCount));
  expect(await countOf(page, 'pending').innerText()).toBe(String(pendingCount));

  const id = await keyOf(page, 0);
  const row = rowsOf(page).first();
  const short = row.locator('[data-whole]').first();
  expect(await short.locator('span').first().innerText()).toBe(`dlv…${id.slice(-4)}`);
  await short.hover();
  await page.getByRole('tooltip').getByText(id).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('tooltip').waitFor({ state: 'detached' });
  await row.focus();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  await page.getByRole('tooltip').getByText(id).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('tooltip').getByText(`Copied ${id}`).waitFor();
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(id);
  expect(await row.innerText()).toMatch(/1\/1\s+503\s+parked\s+503 /);
  expect(await rowsOf(page).last().innerText()).toMatch(/1\/8\s+503\s+in \d d/);
  await keepScreen(page, 'dlq');
  expectQuiet();
  await close();
});

test('tells on every page how many deliveries are abandoned', async () => {
  const { page, expectQuiet, close } = await openPage(browser, webhooks.service);
  const asked: URL[] = [];
  page.on('request', (request) => asked.push(new URL(request.url())));
  await openWebhooks(page, webhooks.service, '/deliveries');
  const link = page.getByRole('link', {
    name: `WEBHOOK DLQ ADMIN ONLY ${abandonedCount} abandoned`,
  });
  await link.waitFor();
  const lists = asked.filter(({ pathname }) => pathname.endsWith('/webhook/dlq'));
  expect(lists.map(({ search }) => search)).toEqual(['?status=abandoned&limit=1']);
  // The page names only what its filter leaves; the navigation goes on to name all of them.
  await page.goto('/#/dlq?tenant=acme');
  await expect.poll(() => countOf(page, 'abandoned').innerText(), patient).toBe('15');
  await link.waitFor();
  expectQuiet();
  await close();
});

test.each([
  ['a phone', 390, 844],
  ['a window zoomed to 200 %', 720, 450],
])('shows dead letters on the first screen of %s', async (_, width, height) => {
  const options = { viewport: { width, height } };
  const { page, expectQuiet, close } = await openPage(browser, webhooks.service, options);
  await openQueue(page);
  const box = await rowsOf(page).nth(2).boundingBox();
  expect((box?.y ?? height) + (box?.height ?? 0)).toBeLessThan(height);
  await keepScreen(page, `dlq-${width}px`);
  expectQuiet();
  await close();
});

test('goes through the rows by keys alone, selects a range and comes back to its row', async () => {
  const { page, expectQuiet, close } = await openPage(browser, webhooks.service);
  await openQueue(page);
  const focused = () =>
    page.evaluate<string | null>(`document.activeElement.getAttribute('data-key')`);
  const press = (key: string) => page.keyboard.press(key);
  await press('j');
  expect(await focused()).toBe(await keyOf(page, 0));
  await press('x');
  await press('j');
  await press('ArrowDown');
  await press('X');
  await page.getByRole('button', { name: 'Retry 3 selected' }).waitFor();
  await press('k');
  const key = await keyOf(page, 1);
  expect(await focused()).toBe(key);
  await press('Enter');
  await attempts(page).waitFor();
  expect(new URL(page.url()).hash).toContain(`panel=delivery/${key}`);
  await press('Escape');
  await drawerOf(page).waitFor({ state: 'detached' });
  await expect.poll(focused, patient).toBe(key);
  await page.getByLabel('Select all rows').check();
  await page.getByRole('button', { name: `Retry ${total} selected` }).waitFor();
  await rowsOf(page).first().focus();
  await press('g');
  await press('r');
  await page.getByRole('heading', { name: 'RECORDS', level: 1 }).waitFor();
  await waitForCounts(webhooks.service, abandonedCount, pendingCount);
  expectQuiet();
  await close();
});

test('repaints in place at the poll: selection, scroll, focus and open drawer stay', async () => {
  const { page, expectQuiet, close } = await openPage(browser, webhooks.service);
  await page.clock.install();
  await openQueue(page);
  await page.getByText('every 15 s').waitFor();
  await rowsOf(page).nth(2).locator('input').check();
  await rowsOf(page).nth(20).click();
  await attempts(page).waitFor();
  await rowsOf(page).nth(24).focus();
  const read = async () => ({
    rows: await rowsOf(page).evaluateAll((rows) => rows.map((row) => row.getAttribute('data-key'))),
    selected: await page.locator('tr[data-selected]').getAttribute('data-key'),
    drawer: await drawerOf(page).getByRole('heading', { level: 2 }).innerText(),
    scroll: await page.locator('section[aria-label="Dead letters"]').evaluate((at) => at.scrollTop),
    focus: await page.evaluate<string>(`document.activeElement.getAttribute('data-key')`),
  });
  const before = await read();
  expect(before.scroll).toBeGreaterThan(0);
  // One marked element: a repaint that drew the rows anew would lose it.
  await rowsOf(page)
    .first()
    .evaluate((row) => row.setAttribute('data-mark', 'kept'));
  const asked = ['abandoned', 'pending'].map((status) =>
    page.waitForResponse((response) => response.url().includes(`/webhook/dlq?status=${status}`)),
  );
  await page.clock.fastForward(16_000);
  await Promise.all(asked);
  await page.getByText('just now').waitFor();
  expect(await read()).toEqual(before);
  expect(await rowsOf(page).first().getAttribute('data-mark')).toBe('kept');
  expectQuiet();
  await close();
});

test('brings a row back that the service refuses to retry, and says why', async () => {
  const { service, endpoints } = webhooks;
  const path = `/webhook/endpoints/${endpoints['/globex/in']}`;
  const { page, expectQuiet, close } = await openPage(browser, service);
  await openQueue(page, '/dlq?tenant=globex');
  await service.call('PATCH', path, { body: { enabled: false } });
  const key = await keyOf(page, 0);
  await rowsOf(page).first().getByRole('button', { name: 'RETRY' }).click();
  await messages(page).getByText('Not retried').waitFor();
  await page.locator(`tr[data-key="${key}"]`).waitFor();
  expect(await rowsOf(page).count()).toBe(15);
  await service.call('PATCH', path, { body: { enabled: true } });
  expectQuiet([/409 \(Conflict\)/]);
  await close();
});

test('says in the drawer why a delivery cannot be retried, and retries it once it can', async () => {
  const { service, endpoints } = webhooks;
  const path = `/webhook/endpoints/${endpoints['/globex/in']}`;
  const { page, expectQuiet, close } = await openPage(browser, service);
  await service.call('PATCH', path, { body: { enabled: false } });
  await openQueue(page, '/dlq?tenant=globex');
  const key = await keyOf(page, 0);
  await rowsOf(page).first().click();
  await drawerOf(page)
    .getByText('No RETRY: its endpoint is disabled. Enable that first.')
    .waitFor();
  expect(await retryOf(page).getAttribute('aria-disabled')).toBe('true');
  const calls: string[] = [];
  page.on('request', (request) => calls.push(`${request.method()} ${request.url()}`));
  await retryOf(page).click({ force: true });
  await service.call('PATCH', path, { body: { enabled: true } });
  await page.reload();
  await drawerOf(page).getByText('retry to send it again').waitFor();
  expect(calls.filter((call) => call.startsWith('POST'))).toEqual([]);
  await retryOf(page).click();
  await messages(page).getByText('Retry queued for').waitFor();
  await waitForCounts(service, abandonedCount, pendingCount);
  await page.locator(`tr[data-key="${key}"]`).waitFor();
  expectQuiet();
  await close();
});

test('DELIVERIES has RETRY on each delivery that failed', async () => {
  const { service } = webhooks;
  const { page, expectQuiet, close } = await openPage(browser, service);
  await openWebhooks(page, service, '/deliveries?tenant=globex');
  await rowsOf(page).first().waitFor();
  const { data } = (await service.call('GET', '/webhook/deliveries?tenant=globex')).json;
  for (const { id, status } of data) {
    const row = page.locator(`tr[data-key="${id}"]`);
    const isFailed = status === 'pending' || status === 'abandoned';
    expect(await row.getByRole('button', { name: 'RETRY' }).count(), status).toBe(isFailed ? 1 : 0);
  }
  const key = await keyOf(page, 0);
  await rowsOf(page).first().getByRole('button', { name: 'RETRY' }).click();
  await messages(page)
    .getByText(`Retry queued for dlv…${key.slice(-4)}`)
    .waitFor();
  await waitForCounts(service, abandonedCount, pendingCount);
  expectQuiet();
  await close();
});

test('shows the four newest messages, and keeps the one that has the focus', async () => {
  const { service, endpoints } = webhooks;
  const path = `/webhook/endpoints/${endpoints['/globex/in']}`;
  const { page, expectQuiet, close } = await openPage(browser, service);
  await page.clock.install();
  await openQueue(page, '/dlq?tenant=globex');
  await service.call('PATCH', path, { body: { enabled: false } });
  const refused = messages(page).getByText('Not retried');
  const textOf = (key: string) => messages(page).getByText(`dlv…${key.slice(-4)}`);
  const keys: string[] = [];
  for (const row of [0, 1, 2, 3, 4]) {
    const key = await keyOf(page, row);
    keys.push(key);
    await rowsOf(page).nth(row).getByRole('button', { name: 'RETRY' }).click();
    await textOf(key).waitFor();
    await page.locator(`tr[data-key="${key}"]`).waitFor();
  }
  const [oldest = ''] = keys;
  const newest = keys.at(-1) ?? '';
  await textOf(oldest).waitFor({ state: 'detached' });
  expect(await refused.count()).toBe(4);

  await messages(page).getByRole('button', { name: 'Close message' }).last().focus();
  await page.clock.runFor(10_000);
  await expect.poll(() => refused.count(), patient).toBe(1);
  await textOf(newest).waitFor();
  await rowsOf(page).first().focus();
  await page.clock.runFor(10_000);
  await expect.poll(() => refused.count(), patient).toBe(0);
  await service.call('PATCH', path, { body: { enabled: true } });
  expectQuiet([/409 \(Conflict\)/]);
  await close();
});

test('shows nobody the messages of whoever was signed in before', async () => {
  const { service, endpoints } = webhooks;
  const path = `/webhook/endpoints/${endpoints['/globex/in']}`;
  const { page, expectQuiet, close } = await openPage(browser, service);
  await openQueue(page, '/dlq?tenant=globex');
  await service.call('PATCH', path, { body: { enabled: false } });
  await rowsOf(page).first().getByRole('button', { name: 'RETRY' }).click();
  const refused = messages(page).getByText('Not retried');
  await refused.waitFor();
  await page.getByRole('button', { name: 'Signed in as' }).click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await signIn(page, service.token);
  await page.getByRole('button', { name: 'Signed in as' }).waitFor();
  expect(await refused.count()).toBe(0);
  await service.call('PATCH', path, { body: { enabled: true } });
  expectQuiet([/409 \(Conflict\)/]);
  await close();
});

test('retries a row, which leaves at once, and follows it until it is delivered', async () => {
  const { service, receiver } = webhooks;
  const { page, expectQuiet, close } = await openPage(browser, service);
  await openQueue(page, '/dlq?tenant=acme');
  receiver.answer(200);
  const [key, next] = [await keyOf(page, 0), await keyOf(page, 1)];
  await rowsOf(page).first().focus();
  await page.keyboard.press('r');
  await page.locator(`tr[data-key="${key}"]`).waitFor({ state: 'detached' });
  await messages(page)
    .getByText(`Retry queued for dlv…${key.slice(-4)}`)
    .waitFor();
  await page.locator(`tr[data-key="${next}"]:focus`).waitFor();
  await page.getByRole('link', { name: 'follow it' }).click();
  await drawerOf(page).getByText('the receiver took it').waitFor();
  await drawerOf(page).getByText('No RETRY: it is delivered').waitFor();
  expect(await retryOf(page).getAttribute('aria-disabled')).toBe('true');
  expect(new URL(page.url()).hash).toMatch(
    new RegExp(`#/deliveries\\?endpoint=.*panel=delivery/${key}`),
  );
  await drawerOf(page).getByText('#2').waitFor();
  expect(receiver.bodiesOf('/acme/in')).toHaveLength(16);
  await keepScreen(page, 'deliveries-drawer');
  // Beside the panel the table has no room for all columns.
  await page.setViewportSize({ width: 1920, height: 900 });
  await page.locator('tr[data-key]').getByRole('button', { name: 'RETRY' }).first().waitFor();
  const delivered = page.locator(`tr[data-key="${key}"]`);
  await delivered.getByText('delivered', { exact: true }).waitFor();
  expect(await delivered.getByRole('button', { name: 'RETRY' }).count()).toBe(0);
  await page.goBack();
  await rowsOf(page).first().waitFor();
  await waitForCounts(service, abandonedCount - 1, pendingCount);
  expectQuiet();
  await close();
});

test('gives axe nothing to find', async () => {
  const options = { initScripts: [axeSource] };
  const { page, expectQuiet, close } = await openPage(browser, webhooks.service, options);
  const findings: Record<string, string[]> = {};
  const visit = async (view: string) => {
    const found = await listFindings(page, view);
    if (found.length > 0) findings[view] = found;
  };
  await openQueue(page);
  await visit('dlq');
  await rowsOf(page).nth(3).locator('input').check();
  await rowsOf(page).nth(1).click();
  await attempts(page).waitFor();
  await visit('dlq-drawer');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'groups' }).click();
  await page.getByRole('button', { name: 'Retry group' }).first().click();
  await page.getByRole('dialog').getByText('will be queued').waitFor();
  await visit('dlq-retry-all');
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await visit('dlq-groups');
  await page.goto('/#/deliveries');
  await page.getByRole('columnheader', { name: 'CREATED' }).waitFor();
  await visit('deliveries');
  await page.goto('/#/endpoints?panel=endpoint/new');
  await page.getByRole('button', { name: 'Make the endpoint' }).waitFor();
  await visit('endpoints');
  expect(findings).toEqual({});
  expectQuiet();
  await close();
}, 180_000);

test('needs no scrolling sideways of the page at 400 % zoom', async () => {
  const options = { viewport: { width: 320, height: 640 } };
  const { page, close } = await openPage(browser, webhooks.service, options);
  await openQueue(page);
  for (const place of [
    '/dlq',
    '/dlq?view=groups',
    '/deliveries',
    '/endpoints?panel=endpoint/new',
  ]) {
    await page.goto(`/#${place}`);
    await page.locator('tr[data-key]').first().waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth'), place).toBe(320);
  }
  await keepScreen(page, 'endpoints-zoomed');
  await close();
});

test('retries a selection, then a group as a job that is paused, survives a reload and ends', async () => {
  const { service } = webhooks;
  const { page, expectQuiet, close } = await openPage(browser, service);
  await openQueue(page, '/dlq?tenant=acme');
  await rowsOf(page).nth(0).locator('input').check();
  await rowsOf(page)
    .nth(4)
    .locator('input')
    .click({ modifiers: ['Shift'] });
  await page.getByRole('button', { name: 'Retry 5 selected' }).click();
  await messages(page).getByText('Retry queued for 5 deliveries').waitFor();
  await expect.poll(() => rowsOf(page).count(), patient).toBe(9);

  await page.getByRole('button', { name: 'Clear filters' }).click();
  await page.getByRole('button', { name: 'groups' }).click();
  const group = rowsOf(page).filter({ hasText: 'globex' });
  await group.getByRole('button', { name: 'Retry group' }).click();
  const dialog = page.getByRole('dialog', { name: 'Retry all' });
  await dialog.getByText('15 deliveries will be queued').waitFor();
  await dialog.getByLabel('Rate').fill('1');
  await dialog.getByRole('button', { name: 'Retry 15 deliveries' }).click();
  const strip = page.getByRole('region', { name: 'Bulk retries' });
  await strip.getByRole('button', { name: 'Pause' }).click();
  await strip.getByRole('button', { name: 'Resume' }).waitFor();
  await page.reload();
  await strip.getByText('paused').waitFor();
  expect(await strip.innerText()).toMatch(/of 15 .*1 a second at most/s);
  await keepScreen(page, 'dlq-job');
  const [job] = (await service.call('GET', '/webhook/dlq/retries')).json.data;
  const body = { rate: 1000 };
  await service.call('PATCH', `/webhook/dlq/retries/${job.id}`, { body });
  await strip.getByRole('button', { name: 'Resume' }).click();
  await strip.getByText('15 of 15').waitFor();
  await strip.getByText('done', { exact: true }).waitFor();
  await group.waitFor({ state: 'detached' });
  expectQuiet();
  await close();
});

test('retries all that is left, what an endpoint kept back once more, and says that the queue is clean', async () => {
  const { service, endpoints } = webhooks;
  const path = `/webhook/endpoints/${endpoints['/tx/in']}`;
  const { page, expectQuiet, close } = await openPage(browser, service);
  await openQueue(page);
  await page.getByRole('button', { name: 'Retry all …' }).click();
  const dialog = page.getByRole('dialog', { name: 'Retry all' });
  await dialog.getByText('21 deliveries will be queued').waitFor();
  await dialog.getByLabel('Rate').fill('1');
  await dialog.getByRole('button', { name: 'Retry 21 deliveries' }).click();
  const strip = page.getByRole('region', { name: 'Bulk retries' });
  await strip.getByRole('button', { name: 'Pause' }).click();
  await strip.getByRole('button', { name: 'Resume' }).waitFor();
  await service.call('PATCH', path, { body: { enabled: false } });
  const [job] = (await service.call('GET', '/webhook/dlq/retries')).json.data;
  await service.call('PATCH', `/webhook/dlq/retries/${job.id}`, { body: { rate: 1000 } });
  await strip.getByRole('button', { name: 'Resume' }).click();
  await strip.getByText('partly done').waitFor();
  await strip.getByText('because their endpoint was disabled meanwhile').waitFor();
  await service.call('PATCH', path, { body: { enabled: true } });
  await strip.getByRole('button', { name: 'Retry the rest' }).click();
  await page.getByRole('heading', { name: 'DLQ is clean' }).waitFor();
  expect(await page.getByText('Last checked at').innerText()).toMatch(/\d\d:\d\d:\d\d UTC/);
  await keepScreen(page, 'dlq-clean');
  expectQuiet();
  await close();
});
