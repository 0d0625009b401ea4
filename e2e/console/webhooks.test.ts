import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { dialogPart, drawerPart, listFindings } from './lib/axe.ts';
import { drawerOf, patient, recordRows as rowsOf, signIn, useConsole } from './lib/browser.ts';
import { attempts, countOf, keyOf } from './lib/dead-letters.ts';
import { banner, standBetween } from './lib/weather.ts';
import { abandonedCount, pendingCount, startWebhookService } from './lib/webhook-service.ts';

const webhooks = useConsole(startWebhookService);

const total = abandonedCount + pendingCount;

test.each([
  ['/endpoints', 1440],
  ['/endpoints', 1280],
  ['/endpoints', 1200],
  ['/dlq', 1200],
  ['/dlq', 1024],
  ['/deliveries', 1024],
])('a filter that is set does not move the table of %s, %i px wide', async (place, width) => {
  const page = await webhooks.openList(place, { viewport: { width, height: 800 } });
  const top = async () => (await page.locator('thead').boundingBox())?.y;
  const before = await top();
  // A button that is not seen takes no row either.
  const filters = await page.locator('fieldset[data-open]').boundingBox();
  expect(filters?.height).toBeLessThan(48);
  await page.getByLabel('Tenant, exactly').fill('TX');
  const clear = page.getByRole('button', { name: 'Clear filters' });
  await clear.waitFor();
  expect(await top()).toBe(before);
  await clear.click();
  await clear.waitFor({ state: 'hidden' });
  expect(await top()).toBe(before);
});

test('half a screen has room for the last error of an endpoint, and for whole targets', async () => {
  const page = await webhooks.openList('/endpoints', { viewport: { width: 1024, height: 768 } });
  await page.getByRole('columnheader', { name: 'LAST ERROR' }).waitFor();
  for (const place of ['/endpoints', '/deliveries', '/dlq', '/dlq?view=groups']) {
    await page.goto(`/#${place}`);
    const target = rowsOf(page).first().locator('span[title^="http"] > span:first-child');
    await target.waitFor();
    expect(await target.evaluate((box) => box.scrollWidth - box.clientWidth), place).toBe(0);
  }
});

test('tells who lacks a scope what is needed, and asks the API for nothing', async () => {
  const body = { name: 'reader', preset: 'support-readonly' };
  const made = await webhooks.service.call('POST', '/tokens', { body });
  const page = await webhooks.openBlank();
  const asked: string[] = [];
  page.on('request', (request) => asked.push(request.url()));
  await page.goto('/#/dlq');
  await signIn(page, made.json.token);
  for (const [name, scope] of [
    ['WEBHOOK DLQ', 'admin'],
    ['DELIVERIES', 'webhooks:read'],
    ['ENDPOINTS', 'webhooks:read'],
  ] as const) {
    const link = page.getByRole('link', { name });
    expect((await link.innerText()).includes('ADMIN ONLY')).toBe(scope === 'admin');
    await link.click();
    await page.getByRole('heading', { name, level: 1 }).waitFor();
    await page.getByRole('heading', { name: `This page needs the scope ${scope}` }).waitFor();
    const header = await page.locator('header').first().innerText();
    expect(header.includes('ADMIN ONLY')).toBe(scope === 'admin');
  }
  expect(asked.filter((url) => url.includes('/webhook/'))).toEqual([]);
});

test('asks once for each status and shows rows with cut ids that are whole on hover and copy', async () => {
  const page = await webhooks.openBlank();
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  const asked: URL[] = [];
  page.on('request', (request) => asked.push(new URL(request.url())));
  await webhooks.openIn(page, '/dlq');
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
});

test('tells on every page how many deliveries are abandoned', async () => {
  const page = await webhooks.openBlank();
  const asked: URL[] = [];
  page.on('request', (request) => asked.push(new URL(request.url())));
  await webhooks.openIn(page, '/deliveries');
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
});

test.each([
  ['a phone', 390, 844],
  ['a window zoomed to 200 %', 720, 450],
])('shows dead letters on the first screen of %s', async (_, width, height) => {
  const page = await webhooks.openList('/dlq', { viewport: { width, height } });
  const box = await rowsOf(page).nth(2).boundingBox();
  expect((box?.y ?? height) + (box?.height ?? 0)).toBeLessThan(height);
});

test('selects all rows', async () => {
  const page = await webhooks.openList('/dlq');
  await page.getByLabel('Select all rows').check();
  await page.getByRole('button', { name: `Retry ${total} selected` }).waitFor();
});

test('repaints in place at the poll: selection, scroll, focus and open drawer stay', async () => {
  const page = await webhooks.openBlank();
  await page.clock.install();
  await webhooks.openIn(page, '/dlq');
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
});

test('gives axe nothing to find', async () => {
  const page = await webhooks.openBlank();
  const visit = async (view: string, part?: string) =>
    expect(await listFindings(page, { part }), view).toEqual([]);
  await webhooks.openIn(page, '/dlq');
  await visit('dlq');
  await rowsOf(page).nth(3).locator('input').check();
  await rowsOf(page).nth(1).click();
  await attempts(page).waitFor();
  await visit('dlq-drawer');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'groups' }).click();
  await page.getByRole('button', { name: 'Retry group' }).first().click();
  await page.getByRole('dialog').getByText('will be queued').waitFor();
  await visit('dlq-retry-all', dialogPart);
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await visit('dlq-groups');
  await page.goto('/#/deliveries');
  await page.getByRole('columnheader', { name: 'CREATED' }).waitFor();
  await visit('deliveries');
  await page.goto('/#/endpoints?panel=endpoint/new');
  await page.getByRole('button', { name: 'Make the endpoint' }).waitFor();
  await visit('endpoints');
  await page.goto(`/#/endpoints?panel=endpoint/${webhooks.endpoints['/acme/in']}`);
  await drawerOf(page).getByRole('list', { name: 'Its newest attempts' }).waitFor();
  await visit('endpoint-story', drawerPart);
  await page.goto('/#/endpoints?view=types');
  await page.getByRole('button', { name: 'New type' }).click();
  await page.getByLabel('Description').waitFor();
  await visit('event-types');
}, 180_000);

test('needs no scrolling sideways of the page at 400 % zoom', async () => {
  const options = { viewport: { width: 320, height: 640 } };
  const page = await webhooks.openList('/dlq', options);
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
});

// The last tests follow one queue through outages of the API; only they change it.

/** A queue with a selection and an open drawer, and what of it must survive. */
async function openPlace(page: Page) {
  await webhooks.openIn(page, '/dlq');
  await rowsOf(page).nth(2).locator('input').check();
  await rowsOf(page).nth(12).click();
  await page.getByRole('heading', { name: 'ATTEMPTS' }).waitFor();
  return readPlace(page);
}

async function readPlace(page: Page) {
  return {
    hash: new URL(page.url()).hash,
    rows: await rowsOf(page).evaluateAll((rows) => rows.map((row) => row.getAttribute('data-key'))),
    selected: await page.locator('tr[data-selected]').getAttribute('data-key'),
    drawer: await drawerOf(page).getByRole('heading', { level: 2 }).innerText(),
    totals: await page.locator('button[aria-pressed] strong').allInnerTexts(),
  };
}

test('keeps the queue in an outage, and comes back by itself, with what has changed meanwhile', async () => {
  const { service, receiver } = webhooks;
  const page = await webhooks.openBlank({ expected: [/503 \(Service Unavailable\)/] });
  await page.clock.install();
  const api = await standBetween(page);
  const before = await openPlace(page);
  const key = (await rowsOf(page).nth(4).getAttribute('data-key')) ?? '';

  api.turn('failing');
  await page.clock.fastForward(20_000);
  await banner(page).getByText('503 from the service').waitFor();
  expect(await readPlace(page)).toEqual(before);
  // Nobody acts on what may be old: the one button that does something reads it again.
  const purge = page.getByRole('button', { name: 'Purge all…' });
  expect(await purge.getAttribute('aria-disabled')).toBe('true');
  const retries = page.getByRole('button', { name: 'RETRY', exact: true });
  const live = retries.and(page.locator(':not([aria-disabled="true"])'));
  expect(await retries.count()).toBeGreaterThan(1);
  expect(await live.count()).toBe(1);
  receiver.answer(200);
  await service.call('POST', `/webhook/dlq/${key}/retry`);
  expect(await page.locator(`tr[data-key="${key}"]`).count()).toBe(1);

  api.turn('fair');
  await page.clock.fastForward(20_000);
  await banner(page).waitFor({ state: 'detached' });
  await page.locator(`tr[data-key="${key}"]`).waitFor({ state: 'detached' });
  expect(await purge.getAttribute('aria-disabled')).toBeNull();
});

test('brings back a row whose retry did not get through', async () => {
  const page = await webhooks.openBlank({ expected: [/ERR_CONNECTION_REFUSED/] });
  const api = await standBetween(page);
  await webhooks.openIn(page, '/dlq');
  const key = (await rowsOf(page).first().getAttribute('data-key')) ?? '';
  api.turn('cut');
  await rowsOf(page).first().getByRole('button', { name: 'RETRY' }).click();
  await page.getByText(`Not retried: dlv…${key.slice(-4)}`).waitFor();
  await page.locator(`tr[data-key="${key}"]`).waitFor();
  api.turn('fair');
  await banner(page).getByRole('button', { name: 'RETRY' }).click();
  await banner(page).waitFor({ state: 'detached' });
});

test('shows no rows of another filter while a first load goes on or is tried again', async () => {
  const page = await webhooks.openBlank({ expected: [/503 \(Service Unavailable\)/] });
  const api = await standBetween(page);
  await webhooks.openIn(page, '/dlq?tenant=acme');
  await rowsOf(page).first().waitFor();
  api.turn('failing');
  await page.goto('/#/dlq?tenant=globex');
  const failure = page.getByRole('alert').filter({ hasText: 'The service cannot answer' });
  await failure.waitFor();
  api.turn('hanging');
  await failure.getByText('trying now').waitFor();
  expect(await rowsOf(page).count()).toBe(0);

  api.turn('fair');
  await page.goto('/#/dlq?tenant=quiet');
  await page.getByRole('heading', { name: 'No dead letter with these filters' }).waitFor();
  api.turn('hanging');
  await page.goto('/#/dlq?tenant=calm');
  await page.getByLabel('Loading the dead-letter queue').waitFor();
});

test('says that a link has a status that is none, and asks for no job by it', async () => {
  const page = await webhooks.open('/dlq?status=abandonned');
  await page.getByRole('heading', { name: 'No dead letter has a status “abandonned”' }).waitFor();
  const purge = page.getByRole('button', { name: 'Purge all…' });
  expect(await purge.isDisabled()).toBe(true);
  await page.getByRole('button', { name: 'Clear filters' }).last().click();
  await rowsOf(page).first().waitFor();
  expect(await purge.isDisabled()).toBe(false);
});

test('says of a first load that fails what is wrong, and shows the queue once it can', async () => {
  const page = await webhooks.open('/endpoints', { expected: [/503 \(Service Unavailable\)/] });
  const api = await standBetween(page);
  api.turn('failing');
  await page.getByRole('link', { name: 'WEBHOOK DLQ' }).click();
  const panel = page.getByRole('alert').filter({ hasText: 'cannot answer' });
  await panel.getByText('The service cannot answer (503)').waitFor();
  // The banner above it has the one button.
  expect(await page.getByRole('button', { name: 'RETRY', exact: true }).count()).toBe(1);
  api.turn('fair');
  await banner(page).getByRole('button', { name: 'RETRY' }).click();
  await rowsOf(page).first().waitFor();
});
