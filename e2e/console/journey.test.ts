import type { Page, Route } from 'playwright-core';
import { expect, test } from 'vitest';
import { ingestBatch } from '../lib/ingest.ts';
import type { Service } from '../lib/installation.ts';
import { listFindings } from './lib/axe.ts';
import {
  drawerOf,
  expectVisible,
  hashOf,
  patient,
  recordRows,
  signIn,
  treeNode,
  useConsole,
  waitForRecord,
} from './lib/browser.ts';
import { bigLeaf, startFilled } from './lib/filled-service.ts';

const filled = useConsole(startFilled);

test('refuses a wrong token in its field, and a link that was used says so', async () => {
  const page = await filled.openBlank({ expected: [/40[01] \(.*\/api\/v1\/session$/] });
  await page.goto('/#/records');
  await signIn(page, 'svc_wrong');
  await page.locator('[id$="-error"]').waitFor();
  await page.goto('/#/sign-in?code=used-up');
  await page.getByRole('alert').getByText('used already').waitFor();
});

test('leads from the printed link to a month, through its pages, into a record and back', async () => {
  const page = await filled.openBlank();
  await page.goto(filled.link);
  await page
    .getByRole('region', { name: 'Figures' })
    .getByRole('link', { name: /^RECORDS/ })
    .click();
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
  expect(hashOf(page)).toContain('panel=record/TX/DFW/');
  await page.keyboard.press('Escape');
  await drawerOf(page).waitFor({ state: 'detached' });

  await recordRows(page).nth(3).click();
  await waitForRecord(page);
  await page.goBack();
  await drawerOf(page).waitFor({ state: 'detached' });
  await page.getByText('1–100 of 1,200').waitFor();
  await page.goBack();
  await page.getByText('101–200 of 1,200').waitFor();
});

test('reopens a copied link at the same record, with its node in sight', async () => {
  const page = await filled.open(bigLeaf);
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
});

test('opens up to the node that a link names, and closes again what is closed by hand', async () => {
  const page = await filled.open(bigLeaf);
  await treeNode(page, '2001-03').waitFor();
  await treeNode(page, 'DFW').locator('[data-toggle]').click();
  await treeNode(page, '2001-03').waitFor({ state: 'detached' });
  expect(hashOf(page)).toContain('month=2001-03');
});

test(
  'signs out, and Back shows nothing of the session',
  async () => {
    const page = await filled.open(bigLeaf, { expected: [/401 \(Unauthorized\)/] });
    await recordRows(page).first().waitFor();
    await page.getByRole('button', { name: 'Signed in as' }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Access token').waitFor();
    await page.goBack();
    await page.getByLabel('Access token').waitFor();
    expect(await recordRows(page).count()).toBe(0);
  },
  patient.timeout * 3,
);

test('a view is saved under a name, found by it in the palette, renamed and deleted', async () => {
  const page = await filled.open('/records?tenant=TX&kind=departure');
  const dialog = page.getByRole('dialog', { name: 'Saved views' });
  await page.getByRole('button', { name: 'VIEWS', exact: true }).click();
  await dialog.getByText('RECORDS · tenant TX · kind departure').waitFor();
  await dialog.getByLabel('Name', { exact: true }).fill('Late ones');
  await dialog.getByLabel('Name', { exact: true }).press('Enter');
  await dialog.getByRole('link', { name: 'Late ones' }).waitFor(patient);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });

  await page.goto(`${filled.service.url}/#/exports`);
  await page.getByRole('heading', { name: 'EXPORTS' }).waitFor(patient);
  await page.keyboard.press('Control+k');
  await page.keyboard.insertText('view late');
  await page.getByRole('option', { name: 'View Late ones' }).waitFor(patient);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'RECORDS' }).waitFor(patient);
  expect(hashOf(page)).toBe('#/records?tenant=TX&kind=departure');

  await page.keyboard.press('Control+k');
  await page.keyboard.insertText('save this view');
  await page.keyboard.press('Enter');
  await dialog.getByRole('button', { name: 'RENAME Late ones' }).click();
  await dialog.getByLabel('New name').fill('Departures');
  await dialog.getByLabel('New name').press('Enter');
  await dialog.getByRole('link', { name: 'Departures' }).waitFor(patient);
  await dialog.getByRole('button', { name: 'DELETE Departures' }).click();
  await dialog.getByText('No views yet.').waitFor(patient);
  const { json } = await filled.service.call('GET', '/views');
  expect(json.data).toEqual([]);
});

/** A record of the first day of a month, by the key of its leaf. */
function recordOf(leaf: string) {
  const [tenant, store, month] = leaf.split('/');
  const event = { event_id: `in ${leaf}`, occurred_at: `${month}-01T00:00:00Z`, enrichment: {} };
  return { tenant, store, ...event };
}

test('brings many open stores back in few requests, and sees what changes in them', async () => {
  const stores = Array.from({ length: 60 }, (_, s) => `s${String(s).padStart(2, '0')}`);
  const months = Array.from({ length: 12 }, (_, m) => `2001-${String(m + 1).padStart(2, '0')}`);
  const leaves = stores.flatMap((store) => months.map((month) => `many/${store}/${month}`));
  await ingestBatch(filled.service, leaves.map(recordOf));
  const page = await filled.openBlank({ expected: [/400 \(Bad Request\)/] });
  await page.clock.install();
  const scroll = (top: number) =>
    page.evaluate(`document.querySelector('[role="tree"]').parentElement.scrollTop = ${top}`);
  const lastMonth = (store: string) => page.locator(`[data-key="many/${store}/2002-01"]`);
  const asked: URLSearchParams[] = [];
  page.on('request', (request) => {
    const { searchParams } = new URL(request.url());
    if (searchParams.get('level') === 'month') asked.push(searchParams);
  });
  // The first stores and one in the middle are closed, and one that is open does not exist.
  const open = stores.filter((store) => store > 's04' && store !== 's30');
  const place = `/records?open=${encodeURIComponent(['many', ...open, 's30a'].join('/'))}`;
  await filled.openIn(page, place);
  const all = 3 + stores.length + open.length * months.length;
  await expectVisible(page, all);

  asked.length = 0;
  await page.reload();
  await expectVisible(page, all);
  await page.locator('[data-key="many/s05/2001-12"]', { hasText: '1 record' }).waitFor();
  // Of the months, only those on the screen and near it are read.
  expect(asked.length).toBeLessThan(stores.length / 3);
  await scroll(1e9);
  const december = page.locator('[data-key="many/s59/2001-12"][aria-posinset="12"]');
  await december.getByText('1 record').waitFor();
  expect(asked.length).toBeLessThan(stores.length / 2);
  expect(asked.map((each) => each.get('store'))).not.toContain('s30');

  asked.length = 0;
  await ingestBatch(filled.service, ['many/s07/2002-01', 'many/s59/2002-01'].map(recordOf));
  await page.clock.fastForward(40_000);
  await expectVisible(page, all + 2);
  await lastMonth('s59').getByText('1 record').waitFor();
  expect(asked.map((each) => each.get('store'))).toEqual(['s59']);
  await scroll(900);
  await lastMonth('s07').getByText('1 record').waitFor();
  expect(asked.map((each) => each.get('store'))).toContain('s07');

  // Months that cannot be read keep their places. After a 400 only the button tries again.
  const isMonths = /level=month&tenant=many/;
  await page.route(isMonths, (route) => route.fulfill({ status: 400 }));
  await page.reload();
  await expectVisible(page, all + 2);
  const january = page.locator('[data-key="many/s05/2001-01"]');
  await january.getByText('RETRY').waitFor();
  await page.unroute(isMonths);
  await january.getByText('RETRY').click();
  await january.getByText('1 record').waitFor();
});

// Every view: slow/console/accessibility.test.ts.
test('gives axe nothing to find on OVERVIEW and on a leaf', async () => {
  const page = await filled.openBlank();
  await filled.openIn(page, '/');
  await page.getByRole('definition').filter({ hasText: 'TX' }).first().waitFor();
  expect(await listFindings(page)).toEqual([]);
  await page.goto(`/#${bigLeaf}`);
  await recordRows(page).first().waitFor();
  await page.getByRole('treeitem', { selected: true }).waitFor();
  expect(await listFindings(page)).toEqual([]);
});

// What a page says where there is nothing to show, or it may not be shown.

async function makeToken(service: Service, fields: Record<string, unknown>): Promise<string> {
  const answer = await service.call('POST', '/tokens', { body: { name: 'narrow', ...fields } });
  expect(answer.status, answer.text).toBe(201);
  return answer.json.token;
}

/** Answers every request for data with 429 while it is on. */
async function limitRate(page: Page): Promise<{ turn(isOn: boolean): void }> {
  let isOn = false;
  const problem = {
    type: 'about:blank',
    title: 'Too many requests',
    status: 429,
    code: 'rate_limited',
    detail: 'This token makes too many requests. Wait 7 s.',
    request_id: 'req-e2e',
  };
  const refusal = {
    status: 429,
    contentType: 'application/problem+json',
    headers: { 'retry-after': '7' },
    body: JSON.stringify(problem),
  };
  await page.route('**/api/v1/enrichment/**', (route: Route) =>
    isOn ? route.fulfill(refusal) : route.continue(),
  );
  return {
    turn(next) {
      isOn = next;
    },
  };
}

test('tells a token without the scope what it needs, and lets another one in at the same place', async () => {
  const page = await filled.openBlank();
  const token = await makeToken(filled.service, { preset: 'pipeline' });
  await page.goto(`/#${bigLeaf}`);
  await signIn(page, token);
  await page.getByRole('heading', { name: 'This page needs the scope enrichment:read' }).waitFor();
  const told = await page.locator('#page').innerText();
  expect(told).toContain('narrow');
  expect(told).toContain('enrichment:write, incidents:write');
  expect(told).toContain('svcctl tokens create --name NAME --preset support-readonly');

  await page.getByRole('button', { name: 'Sign in with another token' }).click();
  await signIn(page, filled.service.token);
  await page.getByText('1–100 of 1,200').waitFor();
});

test('shows an auditor the way from OVERVIEW to the log', async () => {
  const token = await makeToken(filled.service, { preset: 'auditor' });
  const page = await filled.open('/', { token });
  await page.getByRole('heading', { name: 'Nothing to see here' }).waitFor();
  expect(await page.locator('#page').innerText()).not.toMatch(/token|admins|EXPORTS/);
  await page.locator('#page').getByRole('link', { name: 'Go to ACCESS › AUDIT' }).click();
  await page.getByRole('button', { name: 'AUDIT', pressed: true }).waitFor();
});

test('names the address that is no page, and leads back', async () => {
  const page = await filled.open('/records');
  await page.goto('/#/recrods?tenant=TX');
  await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
  await page.locator('#page').getByText('#/recrods?tenant=TX').waitFor();
  await page.locator('#page').getByRole('link', { name: 'Go to OVERVIEW' }).click();
  await page.getByRole('region', { name: 'Figures' }).waitFor();
});

test('says of a link to a record or a node that is gone that nothing is there', async () => {
  const gone = 'TX/DFW/2001-03-01T00:00:00.000001Z/gone';
  const page = await filled.open(`${bigLeaf}&panel=record/${gone}`, {
    expected: [/404 \(Not Found\).*\/records\/one/],
  });
  await drawerOf(page).getByRole('heading', { name: 'There is no such thing here' }).waitFor();
  await drawerOf(page).getByText('It may have been removed').waitFor();
  // The rest of the page is none the worse, and does not ask again.
  await page.getByText('1–100 of 1,200').waitFor();
  expect(await page.locator('[data-failing]').count()).toBe(0);
  await page.keyboard.press('Escape');
  await drawerOf(page).waitFor({ state: 'detached' });

  await page.goto(`/#${bigLeaf}&panel=record/nonsense`);
  await drawerOf(page).getByText('This link names no record.').waitFor();
  await page.goto('/#/records?tenant=ZZ');
  await page.getByText('Nothing is stored here, or your token may not see it.').waitFor();
  await page.getByRole('heading', { name: 'No records here' }).waitFor();
});

test('keeps the rows while too many requests are made, and goes on by itself', async () => {
  const page = await filled.openBlank({ expected: [/429 \(Too Many Requests\)/] });
  await page.clock.install();
  const rate = await limitRate(page);
  await filled.openIn(page, bigLeaf);
  await page.getByText('1–100 of 1,200').waitFor();
  const rows = await recordRows(page).allTextContents();

  rate.turn(true);
  await page.clock.fastForward(40_000);
  const banner = page.locator('[data-failing]');
  await banner.getByText('429 Too many requests').waitFor();
  // Not before Retry-After.
  expect(await banner.innerText()).toMatch(/next try in ([7-9]|\d\d) s|trying now/);
  expect(await recordRows(page).allTextContents()).toEqual(rows);

  rate.turn(false);
  await page.clock.fastForward(60_000);
  await banner.waitFor({ state: 'detached' });
  expect(await recordRows(page).allTextContents()).toEqual(rows);
});

test('says so when the first load is one request too many, and shows the data once it may', async () => {
  const page = await filled.openBlank({ expected: [/429 \(Too Many Requests\)/] });
  await page.clock.install();
  const rate = await limitRate(page);
  rate.turn(true);
  await page.goto('/#/records?tenant=TX');
  await signIn(page, filled.service.token);
  const panel = page.getByRole('alert').filter({ hasText: 'Too many requests' }).first();
  await panel.waitFor();
  expect(await panel.innerText()).toMatch(/Wait 7 s\.[\s\S]*next try in \d+ s/);

  rate.turn(false);
  await page.clock.fastForward(60_000);
  await treeNode(page, 'TX').waitFor();
  await recordRows(page).first().waitFor();
  await panel.waitFor({ state: 'detached' });
});

test('says that a filter finds nothing, and takes it away', async () => {
  const page = await filled.open(`${bigLeaf}&kind=nothing`);
  await page.getByRole('heading', { name: 'No records with these filters' }).waitFor();
  // There are two, as there are two ways to the eye.
  await page.getByRole('button', { name: 'Clear filters' }).last().click();
  await page.getByText('1–100 of 1,200').waitFor();
  expect(hashOf(page)).not.toContain('kind');
});

test('says that a search finds nothing, and shows all again on Escape', async () => {
  const page = await filled.open('/records');
  await page.keyboard.press('/');
  await page.keyboard.type('ZZ');
  await page.getByText('No tenant begins with “ZZ”.').waitFor();
  await page.keyboard.press('Escape');
  await treeNode(page, 'TX').waitFor();
});
