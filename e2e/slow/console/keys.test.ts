import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import {
  drawerOf,
  expectHash,
  patient,
  tabTo,
  useConsole,
  waitForRecord,
} from '../../console/lib/browser.ts';
import { type FilledService, startFilled } from '../../console/lib/filled-service.ts';
import { checks } from '../../console/lib/key-checks.ts';
import { waitForCounts } from '../../console/lib/webhook-service.ts';
import { createJob } from '../../lib/exports.ts';

const filled = useConsole(() => startFilled({ SVC_ALLOW_TARGETS: '127.0.0.0/8' }, 'cluster'));
beforeAll(async () => {
  await fillQueue(filled.service);
  for (const tenant of ['CA', 'TX']) await createJob(filled.service, 'csv', { tenant });
});

/** Five deliveries that nobody took, and that are not tried again while a test runs. */
async function fillQueue(service: FilledService['service']): Promise<void> {
  const endpoint = { tenant: 'TX', url: 'http://127.0.0.1:9/in', max_attempts: 1 };
  await service.call('POST', '/webhook/endpoints', { body: endpoint });
  for (let n = 0; n < 5; n += 1) {
    const body = { tenant: 'TX', type: 'incident.created', data: { n } };
    await service.call('POST', '/incidents', { body });
  }
  await waitForCounts(service, 5, 0);
}

/** A line of the sheet: what it says and the keys it names. */
type Line = { text: string; keys: string[] };

async function readSheet(page: Page): Promise<Line[]> {
  await page.keyboard.press('?');
  const sheet = page.getByRole('dialog', { name: 'Keys' });
  await sheet.waitFor();
  const lines = await sheet
    .locator('dl > div')
    .evaluateAll((rows) =>
      rows.map((row) => ({
        text: `${row.closest('section')?.querySelector('h3')?.textContent}: ${row.querySelector('dt')?.textContent}`,
        keys: [...row.querySelectorAll('kbd')].map((key) => key.textContent ?? ''),
      })),
    );
  await page.keyboard.press('Escape');
  await sheet.waitFor({ state: 'detached' });
  return lines;
}

const pressNames: Readonly<Record<string, string>> = {
  Ctrl: 'Control',
  Esc: 'Escape',
  '↑': 'ArrowUp',
  '↓': 'ArrowDown',
  '←': 'ArrowLeft',
  '→': 'ArrowRight',
  PgUp: 'PageUp',
  PgDn: 'PageDown',
  'a … z': 't',
};

test('names no key but those that do what it says', async () => {
  const page = await filled.open('/records');
  const lines = await readSheet(page);
  expect(lines.map(({ text }) => text).sort()).toEqual(Object.keys(checks).sort());
  for (const { text, keys } of lines) {
    const check = checks[text];
    const names = keys.map((key) => pressNames[key] ?? key);
    // From one place straight to the same place, nothing would begin anew.
    await page.goto('/#/nowhere');
    await page.getByText('There is no such page').waitFor();
    await page.goto(`/#${check?.from}`);
    await check?.run(page, (index) =>
      page.keyboard.press(index === 'together' ? names.join('+') : (names[index] ?? '')),
    );
  }
});

test.each([
  ['/dlq', 'In a list: Previous, next row'],
  ['/access', 'In a list: Previous, next row'],
  ['/records', 'In the search of RECORDS: To the tree'],
  ['/', 'Anywhere: Find anything: a tenant, an id, an action'],
])('shows the keys of %s first', async (place, first) => {
  const page = await filled.open(place);
  expect((await readSheet(page))[0]?.text).toBe(first);
});

test('reads the months of a chart by key, and opens one', async () => {
  const page = await filled.open('/records?tenant=TX&store=DFW');
  const chart = page.getByRole('slider', { name: /^Records per month/ });
  const expectMonth = async (text: string, label: string) => {
    await expect.poll(() => chart.getAttribute('aria-valuetext'), patient).toBe(text);
    await page.getByText(label, { exact: true }).waitFor();
  };
  await chart.focus();
  await expectMonth('2001-03: 1,200 records', '2001-03 · 1,200 records');
  await page.keyboard.press('ArrowLeft');
  await expectMonth('2001-02: 200 records', '2001-02 · 200 records');
  await page.keyboard.press('End');
  await expectMonth('2001-03: 1,200 records', '2001-03 · 1,200 records');
  await page.keyboard.press('Home');
  await expectMonth('2001-02: 200 records', '2001-02 · 200 records');
  await page.keyboard.press('Tab');
  await page.getByText('2001-02 · 200 records', { exact: true }).waitFor({ state: 'hidden' });
  await chart.focus();
  await page.keyboard.press('Enter');
  await page.getByText('1–100 of 200').waitFor();
  await expectHash(page, 'month=2001-02');
});

/** Key of the node or record that has the focus. */
const focusedKey = (page: Page) =>
  page.evaluate<string | null>(`document.activeElement.getAttribute('data-key')`);

const expectFocus = (page: Page, key: string) =>
  expect.poll(() => focusedKey(page), patient).toBe(key);

test('goes from the tree to a record and back by keys alone', async () => {
  const page = await filled.open('/records');
  await page.getByRole('treeitem').first().waitFor();
  const press = (key: string) => page.keyboard.press(key);

  await tabTo(page, '[role="treeitem"]');
  await expectFocus(page, 'CA');
  await press('End');
  await expectFocus(page, 'TX');
  await press('ArrowRight');
  await page.getByRole('treeitem', { name: /^DFW/ }).waitFor();
  await press('ArrowRight');
  await expectFocus(page, 'TX/AUS');
  await press('d');
  await expectFocus(page, 'TX/DFW');
  await press('ArrowRight');
  await page.getByRole('treeitem', { name: /^2001-03/ }).waitFor();
  await press('ArrowRight');
  await press('ArrowDown');
  await expectFocus(page, 'TX/DFW/2001-03');
  await press('Enter');
  await page.getByText('1–100 of 1,200').waitFor();
  await expectFocus(page, 'TX/DFW/2001-03');

  await tabTo(page, 'tbody tr');
  const first = await focusedKey(page);
  await press('j');
  const second = await focusedKey(page);
  expect(second).not.toBe(first);
  await press('j');
  await press('k');
  await expectFocus(page, second ?? '');
  await press('Enter');
  await waitForRecord(page);
  await page.locator('#panel-title:focus').waitFor();
  await press('Escape');
  await drawerOf(page).waitFor({ state: 'detached' });
  await expectFocus(page, second ?? '');
});
