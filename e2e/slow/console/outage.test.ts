import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import {
  drawerOf,
  patient,
  recordRows,
  signIn,
  useConsole,
  waitForRecord,
} from '../../console/lib/browser.ts';
import { bigLeaf, startFilled } from '../../console/lib/filled-service.ts';
import { banner, standBetween, stopClock } from '../../console/lib/weather.ts';

const filled = useConsole(() => startFilled({}, 'cluster'));

/** A leaf with an open record, and what of it must survive. */
async function openPlace(page: Page) {
  await filled.openIn(page, bigLeaf);
  await recordRows(page).nth(20).click();
  await waitForRecord(page);
  return readPlace(page);
}

async function readPlace(page: Page) {
  return {
    hash: new URL(page.url()).hash,
    records: await recordRows(page).evaluateAll((rows) =>
      rows.map(({ id, textContent }) => [id, textContent]),
    ),
    nodes: await page.getByRole('treeitem').allInnerTexts(),
    chosen: await page.getByRole('treeitem', { selected: true }).getAttribute('data-key'),
    drawer: await drawerOf(page).innerText(),
    scrollTop: await page.locator('section[aria-label="Records"]').evaluate((at) => at.scrollTop),
  };
}

/** Past the time of the next poll, or of the next try. */
async function letTimePass(page: Page): Promise<void> {
  await page.clock.fastForward(40_000);
}

const boxOf = async (place: Locator) => {
  const box = await place.boundingBox();
  if (box === null) throw new Error('it is not in sight');
  return box;
};

test.each([
  ['answers 503', 'failing', '503 from the service'],
  ['cannot be reached', 'cut', 'No connection'],
] as const)(
  'keeps every row while the API %s, and repaints in place by RETRY',
  async (_, weather, words) => {
    const page = await filled.openBlank({
      hasClock: true,
      expected: [/503 \(Service Unavailable\)/, /ERR_CONNECTION_REFUSED/],
    });
    const api = await standBetween(page);
    const before = await openPlace(page);

    api.turn(weather);
    await letTimePass(page);
    await banner(page).getByText(words).waitFor();
    const told = await banner(page).innerText();
    expect(told).toMatch(/showing data of \d\d:\d\d/);
    expect(told).toMatch(/\d+ (s|m|min)\b.* old/);
    expect(told).toMatch(/next try in \d+ s|trying now/);
    if (weather === 'failing') expect(told).toContain('req-e2e');
    const [bar, line] = [await boxOf(page.locator('header').first()), await boxOf(banner(page))];
    expect(line.y - bar.y - bar.height).toBeLessThan(16);
    expect(await readPlace(page)).toEqual(before);

    // Otherwise a try of its own may come before the click.
    await stopClock(page);
    api.turn('fair');
    await banner(page).getByRole('button', { name: 'RETRY' }).click();
    await page.clock.resume();
    await banner(page).waitFor({ state: 'detached' });
    expect(await readPlace(page)).toEqual(before);
  },
);

test('keeps every row while the API does not answer, and comes back by itself', async () => {
  const page = await filled.openBlank({ hasClock: true });
  const api = await standBetween(page);
  const before = await openPlace(page);

  api.turn('hanging');
  const asked = page.waitForRequest('**/api/v1/enrichment/datasets**');
  await letTimePass(page);
  await asked;
  expect(await readPlace(page)).toEqual(before);
  // The browser's own time-out of 10 s, which no clock moves.
  await banner(page).getByText('No answer in time').waitFor({ timeout: 120_000 });
  expect(await readPlace(page)).toEqual(before);

  api.turn('fair');
  await letTimePass(page);
  await banner(page).waitFor({ state: 'detached' });
  expect(await readPlace(page)).toEqual(before);
}, 90_000);

test('pages on after an outage: a page that failed keeps the last one on the screen', async () => {
  const page = await filled.openBlank({
    hasClock: true,
    expected: [/503 \(Service Unavailable\)/],
  });
  const api = await standBetween(page);
  await filled.openIn(page, bigLeaf);
  await page.getByText('1–100 of 1,200').waitFor();
  const rows = await recordRows(page).allTextContents();

  api.turn('failing');
  await page.getByRole('button', { name: 'NEXT ›' }).click();
  await banner(page).getByText('503 from the service').waitFor();
  expect(await recordRows(page).allTextContents()).toEqual(rows);
  // What is said of the rows is still true of them.
  await page.getByText('1–100 of 1,200').waitFor();

  // The page tries again by itself, too, and must not be quicker than the button.
  await stopClock(page);
  api.turn('fair');
  await banner(page).getByRole('button', { name: 'RETRY' }).click();
  await page.clock.resume();
  await page.getByText('101–200 of 1,200').waitFor();
  await expect.poll(() => recordRows(page).allTextContents(), patient).not.toEqual(rows);
});

test('asks to sign in over the page when the session ends, and goes on at the same place', async () => {
  const page = await filled.openBlank({ hasClock: true, expected: [/401 \(Unauthorized\)/] });
  const before = await openPlace(page);

  await page.context().clearCookies();
  await letTimePass(page);
  const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
  await dialog.waitFor();
  expect(await readPlace(page)).toEqual(before);

  await signIn(page, filled.service.token);
  await dialog.waitFor({ state: 'detached' });
  expect(await readPlace(page)).toEqual(before);
});

test('keeps what is typed when somebody goes on with another token', async () => {
  const page = await filled.openBlank({ hasClock: true, expected: [/401 \(Unauthorized\)/] });
  await filled.openIn(page, '/endpoints?panel=endpoint/new');
  const field = page.getByRole('textbox', { name: 'URL', exact: true });
  await field.fill('https://typed.example/in');
  const body = { name: 'another admin', preset: 'admin' };
  const { token } = (await filled.service.call('POST', '/tokens', { body })).json;
  await page.context().clearCookies();
  await letTimePass(page);
  await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
  await signIn(page, token);
  await page.getByText('another admin', { exact: true }).waitFor();
  expect(await field.inputValue()).toBe('https://typed.example/in');
});

test('draws a page once its script can be had, without anybody leaving it', async () => {
  const page = await filled.open('/records', { expected: [/ERR_CONNECTION_REFUSED/] });
  await page.route('**/assets/*.js', (route) => route.abort('connectionrefused'));
  await page.route(isServedPage, (route) => route.abort('connectionrefused'));
  await page.getByRole('link', { name: 'RETENTION' }).click();
  await page.getByRole('alert').getByText('No connection to the service').waitFor();
  await page.getByRole('treeitem', { name: /^TX/ }).waitFor({ state: 'detached' });

  await page.unroute('**/assets/*.js');
  await page.unroute(isServedPage);
  await page.getByRole('button', { name: 'RETRY' }).click();
  await page.getByRole('cell', { name: 'TX', exact: true }).waitFor();
});

test('says that the service was updated, and loads the new console at the same place', async () => {
  const page = await filled.open(bigLeaf, { expected: [/404 \(Not Found\)/] });
  // What the old tab asks for is gone, and the page that is served now names other scripts.
  let isReloaded = false;
  await page.route('**/assets/*.js', (route) =>
    isReloaded ? route.continue() : route.fulfill({ status: 404, body: '' }),
  );
  await page.route(isServedPage, (route) => {
    isReloaded ||= route.request().isNavigationRequest();
    if (isReloaded) return route.continue();
    return route.fulfill({ contentType: 'text/html', body: '<script src="/assets/index-new.js">' });
  });
  await page.goto('/#/retention?view=moves');
  await page.getByText('svcctl was updated: this is the new console.').waitFor();
  await page.getByRole('heading', { name: 'RETENTION' }).waitFor();
  expect(new URL(page.url()).hash).toBe('#/retention?view=moves');
});

/** The page that an open tab reads to see what is served now. */
const isServedPage = (url: URL) => url.pathname === '/';

test('does not reload again and again while two releases answer by turns', async () => {
  const page = await filled.open(bigLeaf, { expected: [/404 \(Not Found\)/] });
  let loads = 0;
  let looks = 0;
  const known = await loadedScripts(page);
  await page.route('**/assets/*.js', (route) => {
    if (known.includes(route.request().url())) return route.continue();
    return route.fulfill({ status: 404, body: '' });
  });
  await page.route(isServedPage, (route) => {
    if (!route.request().isNavigationRequest()) {
      looks += 1;
      return route.fulfill({ contentType: 'text/html', body: '<script src="/assets/new.js">' });
    }
    loads += 1;
    return route.continue();
  });
  await page.goto('/#/retention?view=moves');
  await page.getByText('RETRY loads the new console at this place').waitFor();
  await page.evaluate('window.stays = true');
  const looksBefore = looks;
  await page.getByRole('link', { name: 'EXPORTS' }).click();
  await expect.poll(() => looks, patient).toBeGreaterThan(looksBefore);
  await page.getByText('RETRY loads the new console at this place').waitFor();
  expect(await page.evaluate('window.stays')).toBe(true);
  // The pause between reloads is a minute.
  expect(loads).toBeLessThanOrEqual(2);
  await page.unrouteAll();
  await page.getByRole('button', { name: 'RETRY' }).first().click();
  await page.getByRole('heading', { name: 'EXPORTS', exact: true }).waitFor();
});

const loadedScripts = (page: Page) =>
  page.evaluate<string[]>(
    `performance.getEntriesByType('resource').map(({ name }) => name).filter((name) => name.endsWith('.js'))`,
  );

test('keeps working while the service is restarted under the page', async () => {
  const { installation, service } = filled;
  const page = await filled.openBlank({
    hasClock: true,
    expected: [/ERR_CONNECTION_REFUSED/, /ERR_CONNECTION_RESET/, /ERR_EMPTY_RESPONSE/, /503 /],
  });
  const before = await openPlace(page);

  await service.stop();
  await letTimePass(page);
  await banner(page).getByText('No connection').waitFor();
  expect(await readPlace(page)).toEqual(before);

  // The page's time stands still until RETRY is clicked: it would come back by itself while the service starts.
  await stopClock(page);
  await installation.start({ SVC_PORT: new URL(service.url).port });
  await banner(page).getByRole('button', { name: 'RETRY' }).click();
  await page.clock.resume();
  await banner(page).waitFor({ state: 'detached' });
  expect(await readPlace(page)).toEqual(before);
});
