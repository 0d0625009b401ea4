import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { seedLeaves } from '../lib/leaves.ts';
import { expectVisible, patient, useConsole } from './lib/browser.ts';
import { startEmpty } from './lib/filled-service.ts';

/** Two tenants are wide below, so that 200 open stores make 100,000 nodes visible. */
const shape = { tenants: 20, stores: 100, months: 500, deep: 2 };

/** A tenant's stores in key order. */
const storeNames = Array.from({ length: shape.stores }, (_, s) => {
  return `${String.fromCharCode(65 + (s % 26))}${String(s).padStart(4, '0')}`;
}).sort();

const leaves = useConsole(() => startEmpty({ SVC_RATE_LIMIT: '0' }));
beforeAll(async () => {
  await seedLeaves(await leaves.installation.postgresUrl(), shape);
});

const expectFocus = (page: Page, key: string) =>
  expect
    .poll(
      () => page.evaluate<string>(`document.activeElement.getAttribute('data-key') ?? 'none'`),
      patient,
    )
    .toBe(key);

/** Keys one after the other, without waiting for what they do. */
async function burst(page: Page, key: string, times: number): Promise<void> {
  await Promise.all(Array.from({ length: times }, () => page.keyboard.press(key)));
}

async function openTree(place: string): Promise<Page> {
  const page = await leaves.open(place);
  await page.getByRole('treeitem').first().waitFor();
  return page;
}

/** Rows that PageDown goes on by, as the list counts them. */
const pageRows = (page: Page) =>
  page.evaluate<number>(
    `Math.floor(document.querySelector('[role="tree"]').parentElement.clientHeight / 32) - 1`,
  );

test('follows every key through a hundred thousand leaves', async () => {
  const page = await openTree('/records');
  const press = (key: string) => page.keyboard.press(key);
  await page.locator('[role="treeitem"][tabindex="0"]').focus();
  await press('End');
  await expectFocus(page, 'T19');
  await press('Home');
  await expectFocus(page, 'A00');

  await press('ArrowRight');
  await expectVisible(page, shape.tenants + shape.stores);
  await burst(page, 'ArrowDown', 40);
  await expectFocus(page, `A00/${storeNames[39]}`);
  await burst(page, 'ArrowUp', 39);
  await expectFocus(page, 'A00/A0000');
  await press('ArrowRight');
  await expectVisible(page, shape.tenants + shape.stores + shape.months);
  await burst(page, 'PageDown', 3);
  const month = (await pageRows(page)) * 3;
  const last = new Date(Date.UTC(2001, month - 1)).toISOString().slice(0, 7);
  await expectFocus(page, `A00/A0000/${last}`);
  await press('Enter');
  await page.locator(`[data-key="A00/A0000/${last}"][aria-selected="true"]`).waitFor();
  await page.waitForURL((url) => url.hash.includes(`month=${last}`));

  await press('ArrowLeft');
  await expectFocus(page, 'A00/A0000');
  await press('ArrowLeft');
  await expectVisible(page, shape.tenants + shape.stores);
  await page.keyboard.type('q0');
  await expectFocus(page, 'A00/Q0016');
  // A key that moves ends the name that is being typed; one letter then goes from Q to Q.
  await press('ArrowDown');
  await expectFocus(page, 'A00/Q0042');
  await page.keyboard.type('qqq');
  await expectFocus(page, 'Q16');
  await press('End');
  await expectFocus(page, 'T19');
  await press('Home');
  await press('ArrowLeft');
  await expectVisible(page, shape.tenants);
});

test('finds tenants and stores by prefix, and all again', async () => {
  const page = await openTree('/records');
  await page.keyboard.press('/');
  await page.keyboard.type('C/D');
  await page.locator('[data-key="C02/D0003"]').waitFor({ state: 'detached' });
  await page.getByText('No tenant “C/D”').waitFor();
  await page.keyboard.press('Escape');
  await expectVisible(page, shape.tenants);
  await page.keyboard.type('C02/D');
  await page.locator('[data-key="C02/D0003"]').waitFor();
  await expectVisible(page, 1 + 4);
  await page.keyboard.press('Escape');
  await expectVisible(page, shape.tenants);
  await page.keyboard.type('Q');
  await expectVisible(page, 1);
  await page.locator('[data-key="Q16"]').click();
  await page.locator('[data-key="Q16"][aria-selected="true"]').waitFor();
  await expectVisible(page, 1 + shape.stores);
});

test('loses no click and no key among 100,000 visible nodes', async () => {
  const open = ['A00', 'B01'].map((tenant) => [tenant, ...storeNames].join('/')).join('//');
  const page = await openTree(`/records?open=${encodeURIComponent(open)}`);
  const all = shape.tenants + 2 * shape.stores * (1 + shape.months);
  await expectVisible(page, all);
  await page.locator('[role="treeitem"][tabindex="0"]').focus();
  await page.keyboard.press('End');
  await expectFocus(page, 'T19');
  await burst(page, 'ArrowUp', 18);
  await expectFocus(page, `B01/${storeNames.at(-1)}/2042-08`);
  await page.keyboard.press('Home');
  await expectFocus(page, 'A00');
  await burst(page, 'PageDown', 20);
  const at = (await pageRows(page)) * 20 - 1;
  const store = storeNames[Math.floor(at / (1 + shape.months))];
  const inside = at % (1 + shape.months);
  const month = new Date(Date.UTC(2001, inside - 1)).toISOString().slice(0, 7);
  await expectFocus(page, inside === 0 ? `A00/${store}` : `A00/${store}/${month}`);
  await page.keyboard.press('Home');
  const toggleOf = (key: string) => page.locator(`[data-key="${key}"] [data-toggle]`);
  await toggleOf('A00/A0000').click();
  await expectVisible(page, all - shape.months);
  await toggleOf('A00/A0000').click();
  await expectVisible(page, all);
  await toggleOf('A00').click();
  await expectVisible(page, all - shape.stores * (1 + shape.months));
  await page.locator('[data-key="B01"]').click();
  await page.locator('[data-key="B01"][aria-selected="true"]').waitFor();
  await expectVisible(page, all - shape.stores * (1 + shape.months));
  await toggleOf('A00').click();
  // What was open inside a closed node is closed.
  await expectVisible(page, all - shape.stores * shape.months);
});

test('a search that no tenant begins with leads to the stores that do', async () => {
  const page = await openTree('/records');
  const tree = page.getByRole('region', { name: 'Where the records are' });
  const search = tree.getByRole('searchbox');
  await search.fill('Q0016');
  await tree.getByRole('link', { name: 'A00 › Q0016' }).click(patient);
  await page.waitForURL((url) => url.hash.includes('tenant=A00&store=Q0016'));
  await search.fill('nobody');
  await tree.getByText('Nor does a store.').waitFor(patient);
});
