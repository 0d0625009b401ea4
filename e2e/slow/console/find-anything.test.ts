import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import {
  drawerOf,
  patient,
  recordRows,
  signIn,
  treeNode,
  useConsole,
  waitForRecord,
} from '../../console/lib/browser.ts';
import { type EveryKind, everyKindSettings, makeEveryKind } from '../../console/lib/every-kind.ts';
import { bigLeaf, startFilled } from '../../console/lib/filled-service.ts';
import { quietRetention } from '../../console/lib/retention.ts';
import { standBetween } from '../../console/lib/weather.ts';

const filled = useConsole(() =>
  startFilled({ ...quietRetention, ...everyKindSettings }, 'cluster'),
);
let ids: EveryKind;
beforeAll(async () => {
  ids = await makeEveryKind(filled.service);
});

const palette = (page: Page) => page.getByRole('dialog', { name: 'Find anything' });
const options = (page: Page) => palette(page).getByRole('option');
const group = (page: Page, name: string) => palette(page).getByRole('group', { name });
const hashOf = (page: Page) => decodeURIComponent(new URL(page.url()).hash);

async function find(page: Page, text: string): Promise<void> {
  await page.keyboard.press('Control+k');
  await palette(page).waitFor();
  await page.keyboard.insertText(text);
}

async function leave(page: Page): Promise<void> {
  await page.keyboard.press('Escape');
  await palette(page).waitFor({ state: 'detached' });
}

/** Opens it, puts the text in as a whole, and presses Enter without waiting for what is found. */
async function pasteAndGo(page: Page, text: string): Promise<void> {
  await page.keyboard.press('Control+k');
  await page.keyboard.insertText(text);
  await page.keyboard.press('Enter');
  await palette(page).waitFor({ state: 'detached' });
}

/** Opens RECORDS with a token that has these scopes. */
async function openAs(page: Page, scopes: readonly string[]): Promise<void> {
  const body = { name: `with ${scopes.join()}`, scopes };
  const { token } = (await filled.service.call('POST', '/tokens', { body })).json;
  await filled.openIn(page, '/records?tenant=TX', token);
}

/** Every kind has a page of its own, which is loaded anew. */
const longMillis = 240_000;

test('every kind of id leads to the page that shows it, or to the command that does', {
  timeout: longMillis,
}, async () => {
  const page = await filled.open('/records?tenant=TX', {
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  const [entry] = (await filled.service.call('GET', '/audit?limit=1')).json.data;
  const places: readonly (readonly [string, RegExp, string])[] = [
    [
      ids.delivery,
      /^http:.*delivery of TX, abandoned/,
      `#/deliveries?panel=delivery/${ids.delivery}`,
    ],
    [ids.key, /^http:.*delivery of TX, abandoned/, `#/deliveries?panel=delivery/${ids.delivery}`],
    [
      ids.incident,
      /^incident.created of TX.*incident, 1 delivery/,
      `#/incidents?panel=inc/${ids.incident}`,
    ],
    [ids.endpoint, /^http:.*endpoint of TX/, `#/endpoints?panel=endpoint/${ids.endpoint}`],
    [ids.export, /^TX_AUS.*export/, `#/exports?panel=export/${ids.export}`],
    [
      ids.version,
      /^spring.*version of TX, 200 records/,
      `#/records?tenant=TX&view=versions&panel=version/${ids.version}`,
    ],
    [ids.tag, /^TX › IAH.*tag of 200 records/, '#/records?tenant=TX&store=IAH&view=tags'],
    [ids.move, /^move of CA.*move, /, `#/retention?view=journal&panel=move/${ids.move}`],
    [ids.run, /^Its moves.*retention run, completed/, `#/retention?view=journal&run=${ids.run}`],
    [
      ids.verification,
      /^Verification of CA.*completed/,
      `#/retention?panel=verification/${ids.verification}`,
    ],
    [ids.retry, /^Bulk retry, completed.*job/, `#/jobs?panel=job/${ids.retry}`],
    [ids.token, /^Access token “night shift”/, `#/access?view=audit&actor=${ids.token}`],
    [
      entry.request_id,
      /^session.open.*by first admin/,
      `#/access?view=audit&panel=entry/${entry.place}`,
    ],
    ['seg_0123456789abcdef', /^RETENTION/, '#/retention'],
  ];
  for (const [id, line, place] of places) {
    await page.goto('/#/records?tenant=TX');
    await page.getByRole('heading', { name: 'TX', exact: true }).waitFor();
    await find(page, ` ${id} `);
    await options(page).filter({ hasText: line }).first().waitFor();
    await page.keyboard.press('Enter');
    await palette(page).waitFor({ state: 'detached' });
    // RECORDS writes the open branches of its tree into the hash by itself.
    await expect.poll(() => hashOf(page).replace(/&open=[^&]*/, ''), patient).toBe(place);
  }
  // A request of which the audit log has nothing.
  await find(page, 'req_0123456789abcdef');
  await options(page)
    .filter({ hasText: /^The log of the service has it/ })
    .waitFor();
  await page.keyboard.press('Enter');
  const command = 'svcctl audit ls --json request_id,at,actor,action,target';
  await page.getByText(`Copied: ${command}`).waitFor();
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(command);
});

test('finds a dead letter by the beginning of its id, and Enter waits for the answer', async () => {
  const page = await filled.open('/records');
  await find(page, ids.delivery.slice(0, 12));
  await page.keyboard.press('Enter');
  await drawerOf(page)
    .getByRole('heading', { name: `DELIVERY ${ids.delivery}` })
    .waitFor();
});

test('finds a record by the id of its event alone, once asked to', async () => {
  const path = '/enrichment/records?tenant=TX&store=IAH&limit=1';
  const [{ event_id: id, occurred_at: at }] = (await filled.service.call('GET', path)).json.data;
  const page = await filled.open('/exports');
  await find(page, id);
  await options(page)
    .filter({ hasText: `Find the event ${id}` })
    .click();
  await options(page)
    .filter({ hasText: `TX › IAH › ${at}` })
    .click();
  await waitForRecord(page);
  expect(hashOf(page)).toContain(`panel=record/TX/IAH/${at}/${id}`);
  await find(page, `event ${id}0`);
  const state = palette(page).getByRole('status');
  await state.getByText(`There is no event ${id}0`).waitFor();
  await leave(page);
  // More hot records than it goes through.
  await page.route('**/enrichment/records?*', (route) =>
    route.fulfill({ json: { data: [], next_cursor: 'c', prev_cursor: null } }),
  );
  await find(page, `event ${id}1`);
  await options(page)
    .filter({ hasText: `Not found so far` })
    .filter({ hasText: `svcctl records find ${id}1` })
    .waitFor();
});

test('says what it cannot look up, and why', async () => {
  const page = await filled.open('/records', { expected: [/404 \(Not Found\)/] });
  const asked: string[] = [];
  page.on('request', (request) => asked.push(request.url()));
  const state = palette(page).getByRole('status');
  await find(page, 'mov_0123456789abcdef');
  await state.getByText('There is no move mov_0123456789abcdef').waitFor();
  expect(asked.join()).toContain('/retention/moves/mov_');
  await leave(page);
  asked.length = 0;
  await find(page, filled.service.token);
  await state.getByText('This is a secret: it is not looked up.').waitFor();
  await leave(page);
  await find(page, 'dlv…7Kq2');
  await state.getByText('This id was cut.').waitFor();
  expect(asked.filter((url) => /datasets|dlv|svc_/.test(url))).toEqual([]);
  await leave(page);
  await find(page, 'no such thing');
  await state.getByText('Nothing is found for “no such thing”.').waitFor();
  await palette(page).getByText('dlv_ delivery').waitFor();
  await palette(page).getByText('by how their names begin').waitFor();
  expect(await palette(page).getByRole('combobox').getAttribute('aria-expanded')).toBe('false');
  await page.keyboard.press('Enter');
  await palette(page).waitFor();
});

test('finds stores of any tenant, and goes through the lines by key', async () => {
  const page = await filled.open('/records');
  await find(page, 'df');
  const found = group(page, 'FOUND').getByRole('option');
  await expect.poll(() => found.count(), patient).toBe(2);
  await found.filter({ hasText: 'CA › DFW' }).waitFor();
  const active = () =>
    page.evaluate<string>(
      `document.getElementById(document.querySelector('[role="dialog"] [role="combobox"]')
        .getAttribute('aria-activedescendant')).textContent`,
    );
  expect(await active()).toContain('CA › DFW');
  await page.keyboard.press('ArrowUp');
  expect(await active()).toBe(await options(page).last().textContent());
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  expect(await active()).toContain('TX › DFW');
  expect(await palette(page).locator('[aria-selected="true"]').count()).toBe(1);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'DFW', exact: true }).waitFor();
  expect(hashOf(page)).toContain('tenant=TX&store=DFW');

  await page.keyboard.press('Control+k');
  await options(page).first().waitFor();
  await page.keyboard.press('PageDown');
  expect(await active()).toBe(await options(page).nth(8).textContent());
  await page.keyboard.press('PageUp');
  expect(await active()).toBe(await options(page).first().textContent());
});

test('does things with what is chosen, and with what is found by its path', async () => {
  const page = await filled.open(`${bigLeaf}&from=2001-03-02&to=2001-03-04`);
  await find(page, 'tag days of TX');
  await page.keyboard.press('Enter');
  await drawerOf(page).getByRole('heading', { name: 'TAG DAYS OF TX › DFW' }).waitFor();
  expect(
    await drawerOf(page)
      .getByLabel(/^Days by UTC/)
      .inputValue(),
  ).toBe('2001-03-02..2001-03-04');

  await find(page, 'export ca/df');
  await options(page).filter({ hasText: 'Export CA › DFW…' }).waitFor();
  await page.keyboard.press('Enter');
  await drawerOf(page).getByRole('heading', { name: 'EXPORT CA › DFW' }).waitFor();

  // An action that needs a place asks for it in the same field.
  await find(page, 'retry all of');
  await page.keyboard.press('Enter');
  const typed = () => palette(page).getByRole('combobox').inputValue();
  await expect.poll(typed, patient).toBe('retry all of ');
  await page.keyboard.type('TX');
  await options(page).filter({ hasText: 'Retry all of TX…' }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: 'Retry all' }).getByText('tenant TX').waitFor();
  await page.keyboard.press('Escape');

  await find(page, 'dark theme');
  await page.keyboard.press('Enter');
  await page.locator('html[data-mantine-color-scheme="dark"]').waitFor();
});

test('says why nobody was signed out', async () => {
  const page = await filled.openBlank({ expected: [/503 \(Service Unavailable\)/] });
  const api = await standBetween(page);
  await filled.openIn(page, '/records?tenant=TX');
  await find(page, 'sign out');
  api.turn('failing');
  await page.keyboard.press('Enter');
  await page.getByText('Try again in a moment.').waitFor();
});

test('offers only what the scopes of the token allow', async () => {
  const page = await filled.openBlank({ expected: [/401 \(Unauthorized\)/] });
  await openAs(page, ['enrichment:read']);
  await page.keyboard.press('Control+k');
  await group(page, 'ACTIONS').getByText('Sign out').waitFor();
  for (const word of ['Export', 'Tag', 'Freeze', 'Retry', 'Run retention', 'New endpoint']) {
    expect(await group(page, 'ACTIONS').getByText(word).count(), word).toBe(0);
  }
  await page.keyboard.insertText(ids.delivery);
  await palette(page).getByRole('status').getByText('needs the scope webhooks:read').waitFor();
  await leave(page);
  await page.context().clearCookies();
  await page.reload();
  await page.getByLabel('Access token').waitFor();
  await openAs(page, ['enrichment:read', 'analytics:read']);
  await page.keyboard.press('Control+k');
  await group(page, 'HERE').getByText('Export TX…').waitFor();
  expect(await group(page, 'ACTIONS').getByText('Tag').count()).toBe(0);
});

test('makes what each page has a button for', { timeout: longMillis }, async () => {
  const page = await filled.open('/');
  const places = ['/exports', '/exports?view=schedules', '/endpoints', '/endpoints?view=types'];
  const access = ['tokens', 'portal', 'notices'].map((view) => `/access?view=${view}`);
  const makers = page.locator('#page').getByRole('button', { name: /^(New |Tell somebody)/ });
  for (const place of [...places, ...access]) {
    await page.goto(`/#${place}`);
    const name = (await makers.getAttribute('aria-label')) ?? (await makers.innerText());
    await page.goto('/#/');
    await makers.waitFor({ state: 'detached' });
    await find(page, name);
    await group(page, 'ACTIONS').getByRole('option', { name }).waitFor();
    await page.keyboard.press('Enter');
    await drawerOf(page).getByRole('heading', { name: /^NEW / }).waitFor();
  }
  await find(page, 'policy of TX');
  await group(page, 'FOUND').getByText('Policy of TX…').waitFor();
  await page.keyboard.press('Enter');
  await drawerOf(page).getByRole('heading', { name: /TX$/ }).waitFor();
});

test('knows the last places of this person, until signing out', async () => {
  const page = await filled.open('/records');
  await page.keyboard.press('Control+k');
  await options(page).first().waitFor();
  expect(await group(page, 'RECENT').count()).toBe(0);
  await page.keyboard.insertText('CA/AUS');
  await group(page, 'FOUND').getByText('CA › AUS').first().waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'AUS', exact: true }).waitFor();
  await find(page, ids.endpoint);
  await group(page, 'FOUND').getByText('endpoint of TX').waitFor();
  await page.keyboard.press('Enter');
  await drawerOf(page)
    .getByRole('heading', { name: /^ENDPOINT/ })
    .waitFor();
  await page.reload();
  await drawerOf(page)
    .getByRole('heading', { name: /^ENDPOINT/ })
    .waitFor();

  await page.keyboard.press('Control+k');
  const recent = group(page, 'RECENT').getByRole('option');
  await expect
    .poll(() => recent.allInnerTexts(), patient)
    .toEqual([expect.stringContaining('endpoint of TX'), expect.stringContaining('CA › AUS')]);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'AUS', exact: true }).waitFor();
  expect(hashOf(page)).toContain('tenant=CA&store=AUS');

  await find(page, 'sign out');
  await page.keyboard.press('Enter');
  await signIn(page, filled.service.token);
  await page.getByRole('region', { name: 'Figures' }).waitFor();
  await page.keyboard.press('Control+k');
  await options(page).first().waitFor();
  expect(await group(page, 'RECENT').count()).toBe(0);
});

test('takes what is typed right after Ctrl K, and gives the focus back on Escape', async () => {
  const page = await filled.open('/records');
  await treeNode(page, 'TX').focus();
  const place = hashOf(page);
  await page.keyboard.press('Control+k');
  await page.keyboard.type('/TX');
  expect(await palette(page).getByRole('combobox').inputValue()).toBe('/TX');
  await page.keyboard.press('Escape');
  await palette(page).waitFor({ state: 'detached' });
  await expect
    .poll(() => page.evaluate<string>('document.activeElement.dataset.key'), patient)
    .toBe('TX');
  expect(hashOf(page)).toBe(place);
  expect(await page.locator('[data-search]').inputValue()).toBe('');

  const button = page.getByRole('button', { name: /^Find a tenant/ });
  await button.click();
  await palette(page).waitFor();
  await page.keyboard.press('Escape');
  await palette(page).waitFor({ state: 'detached' });
  await page.locator('header button:focus').getByText('Find a tenant').waitFor();
});

test('goes to a page and runs commands', async () => {
  const page = await filled.open('/records');
  await page.goto('/#/no-such-page');
  await page.getByText('There is no such page').waitFor();
  await pasteAndGo(page, 'go to rec');
  await page.getByRole('tree').waitFor();
  expect(hashOf(page)).toBe('#/records');

  await pasteAndGo(page, 'all keys');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor();
});

test('leads to the tenant, store or month whose path is pasted', async () => {
  const page = await filled.open('/records');
  const places = [
    ['CA', 'CA', ['tenant=CA']],
    ['TX/DFW', 'DFW', ['tenant=TX', 'store=DFW']],
    [' TX › AUS › 2001-02 ', '2001-02', ['tenant=TX', 'store=AUS', 'month=2001-02']],
    ['tx/iah', 'IAH', ['tenant=TX', 'store=IAH']],
  ] as const;
  for (const [text, name, parts] of places) {
    await pasteAndGo(page, text);
    await page.getByRole('heading', { name, exact: true }).waitFor();
    for (const part of parts) expect(hashOf(page)).toContain(part);
  }
});

test('opens the record whose link or identity is pasted', async () => {
  const page = await filled.open(bigLeaf);
  await recordRows(page).nth(5).click();
  await waitForRecord(page);
  const link = page.url();
  const key = (await recordRows(page).nth(5).getAttribute('data-key')) ?? '';
  const event = await page.locator('#panel-title').innerText();

  for (const text of [link, key]) {
    await pasteAndGo(page, 'CA');
    await page.getByRole('heading', { name: 'CA', exact: true }).waitFor();
    await drawerOf(page).waitFor({ state: 'detached' });
    await pasteAndGo(page, text);
    await waitForRecord(page);
    expect(await page.locator('#panel-title').innerText()).toBe(event);
    await page.getByText('1–100 of 1,200').waitFor();
    expect(await recordRows(page).nth(5).getAttribute('aria-current')).toBe('true');
  }
});
