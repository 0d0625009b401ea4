import type { Locator, Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { runRetention } from '../lib/retention.ts';
import { drawerOf, expectHash, patient, recordRows, signIn, useConsole } from './lib/browser.ts';
import { bigLeaf, startFilled } from './lib/filled-service.ts';
import { quietRetention } from './lib/retention.ts';

// The days that are shown, how they are chosen, and the pictures that choose them.

const filled = useConsole(() => startFilled(quietRetention));
beforeAll(() => runRetention(filled.service, { tenant: 'CA' }));
const day = (page: Page, date: string) => page.locator(`[data-day="${date}"]`);

test('in local time, days say that they are those of UTC', async () => {
  const page = await filled.open(bigLeaf, {
    timezoneId: 'Asia/Kolkata',
    initScripts: [`localStorage.setItem('svcctl.zone', 'local')`],
  });
  await recordRows(page).first().waitFor();
  await page.getByLabel(/^Days by UTC/).waitFor();
  await page.getByText('days are UTC').waitFor();
  await page.getByRole('button', { name: 'DAYS', exact: true }).click();
  await day(page, '2001-03-01').waitFor();
  await page.getByText('days are UTC').waitFor();
});

test('a refused day says why, and does not stay as if it were in force', async () => {
  const page = await filled.open(bigLeaf);
  await recordRows(page).first().waitFor();
  const days = page.getByLabel(/^Days by UTC/);
  await days.fill('2001-02-31');
  await page.keyboard.press('Enter');
  await page.getByText('Not days such as 2026-03-05').waitFor();
  await days.fill('2002');
  await page.keyboard.press('Enter');
  await page.getByText('None of its days is from 2001-03-01 to 2001-03-31').waitFor();
  await page.keyboard.press('Tab');
  expect(await days.inputValue()).toBe('');
  expect(await page.getByText('None of its').count()).toBe(0);
  expect(page.url()).not.toMatch(/from=|to=/);
  await days.fill('2001-03-30..2001-04-02');
  await page.waitForURL(/from=2001-03-30&to=2001-03-31/);
  expect(await days.inputValue()).toBe('2001-03-30..2001-03-31');
  await days.fill('2001-q1');
  await page.keyboard.press('Tab');
  await page.waitForURL(/from=2001-03-01&to=2001-03-31/);
  expect(await days.inputValue()).toBe('2001-03');
});

test('hours are chosen where the days are, and go with the next days that are chosen', async () => {
  const page = await filled.open(bigLeaf);
  await recordRows(page).first().waitFor();
  const days = page.getByLabel(/^Days by UTC/);
  await days.fill('2001-03-05T22:00/2001-03-06T08:00');
  await page.keyboard.press('Enter');
  await expectHash(page, 'from=2001-03-05&to=2001-03-06');
  const where = 'occurred_at >= "2001-03-05T22:00:00Z" and occurred_at < "2001-03-06T08:00:00Z"';
  expect(await page.getByLabel('What must hold of a record').inputValue()).toBe(where);
  const query = new URLSearchParams({ tenant: 'TX', store: 'DFW', month: '2001-03', where });
  const { json } = await filled.service.call(
    'GET',
    `/enrichment/records/count?${query.toString()}`,
  );
  expect(json.count).toBeGreaterThan(0);
  await expect.poll(() => recordRows(page).count(), patient).toBe(json.count);
  // Of so many of all is told where all are counted.
  const records = page.getByRole('region', { name: 'The chosen node' }).locator('dd').first();
  await expect.poll(() => records.textContent(), patient).toBe(`${json.count}\u00a0of\u00a01,200`);

  await days.fill('2001-03-05T08:00/07:00');
  await page.keyboard.press('Enter');
  await page.getByText('Not two times such as').waitFor();
  await days.fill('2001-03-09');
  await expectHash(page, 'from=2001-03-09&to=2001-03-09');
  await expectNoHash(page, 'where=');
  // The same day again is the whole day.
  await days.fill('2001-03-09T08:00/09:00');
  await page.keyboard.press('Enter');
  await expectHash(page, 'where=');
  await expect.poll(() => days.inputValue(), patient).toBe('2001-03-09T08:00/09:00');
  await days.fill('2001-03-09');
  await expectNoHash(page, 'where=');
  await page.goto(`/#${bigLeaf}&panel=export`);
  await drawerOf(page)
    .getByLabel(/^Days by UTC/)
    .fill('2001-03-05T08:00/09:00');
  await page.keyboard.press('Enter');
  await page.getByText('Only whole days can be chosen here').waitFor();
});

test('the tree is sorted by name or by size, and the address keeps that', async () => {
  const page = await filled.open('/records');
  const tenants = () => page.getByRole('treeitem').allInnerTexts();
  const names = async () => (await tenants()).map((text) => text.slice(0, 2));
  await expect.poll(names, patient).toEqual(['CA', 'TX']);
  const heads = page.getByRole('region', { name: 'Where the records are' });
  await heads.getByRole('button', { name: 'RECORDS', exact: true }).click();
  await expect.poll(names, patient).toEqual(['TX', 'CA']);
  await expectHash(page, 'sort=count');
  await page.reload();
  await expect.poll(names, patient).toEqual(['TX', 'CA']);
  await heads.getByRole('button', { name: /^TENANT/ }).click();
  await expect.poll(names, patient).toEqual(['CA', 'TX']);
});

test.each([
  ['/access?view=audit', 1440],
  ['/access?view=audit', 390],
  [bigLeaf, 1024],
  [bigLeaf, 390],
])('why a day is refused can be read at %s, %i px wide', async (place, width) => {
  const page = await filled.open('/records', { viewport: { width, height: 844 } });
  await page.goto(`/#${place}`);
  await recordRows(page).first().waitFor();
  const others = page.getByRole('button', { name: /^(More filters|Filter)$/ });
  for (const each of await others.all()) await each.click();
  await page.getByLabel(/^Days by UTC/).fill('1849');
  await page.keyboard.press('Enter');
  await page.locator('.mantine-InputWrapper-error').waitFor();
  // Its middle and its corners are on the page, and nothing lies over them.
  const isSeen = await page.evaluate<boolean[]>(`(() => {
    const fault = document.querySelector('.mantine-InputWrapper-error');
    const { left, right, top, bottom } = fault.getBoundingClientRect();
    return [left + 2, (left + right) / 2, right - 2].map((x) =>
      [top + 2, bottom - 2].every((y) => fault.contains(document.elementFromPoint(x, y))),
    );
  })()`);
  expect(isSeen).toEqual([true, true, true]);
});

test('days are chosen in a calendar and by what has a name, by key and pointer, and stay in the address', async () => {
  const page = await filled.open('/records?tenant=TX&store=DFW');
  await recordRows(page).first().waitFor();
  const open = page.getByRole('button', { name: 'Choose days' });
  await open.click();
  const choices = page.getByRole('dialog');
  const quarters = choices.getByRole('group', { name: 'Quarters' }).getByRole('button');
  await expect.poll(() => quarters.allTextContents(), patient).toEqual(['2001 Q1']);
  // It opens where the data is. A click is a day, another one the days up to there.
  await choices.locator('[data-day="2001-03-09"]').click();
  await page.waitForURL(/from=2001-03-09&to=2001-03-09/);
  await choices.locator('[data-day="2001-03-05"]').click();
  await page.waitForURL(/from=2001-03-05&to=2001-03-09/);
  await choices.waitFor({ state: 'detached' });
  expect(await page.getByLabel(/^Days by UTC/).inputValue()).toBe('2001-03-05..2001-03-09');

  await open.focus();
  await page.keyboard.press('Enter');
  await choices.getByRole('button', { name: 'A month earlier' }).click();
  await choices.getByRole('button', { name: '2001-02' }).click();
  await page.waitForURL(/from=2001-02-01&to=2001-02-28/);
  await page.locator('[aria-label="Choose days"]:focus').waitFor();
  await page.keyboard.press('Enter');
  await choices.locator('[data-day="2001-02-01"]').focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  await page.waitForURL(/from=2001-02-02&to=2001-02-02/);
  await choices.getByRole('button', { name: 'Yesterday' }).click();
  const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
  await page.waitForURL(new RegExp(`from=${yesterday}&to=${yesterday}`));
  await open.click();
  await choices.getByRole('button', { name: 'All days' }).click();
  await expect.poll(() => page.url(), patient).not.toMatch(/from=|to=/);
});

test('a page of some days of a store, or of a kind, says of how many, above it, too', async () => {
  const store = '/records?tenant=TX&store=DFW&from=2001-03-02';
  const page = await filled.open(store);
  const { json } = await filled.service.call(
    'GET',
    '/exports/estimate?tenant=TX&store=DFW&from=2001-03-02&to=2999-12-31',
  );
  const some = json.rows.toLocaleString('en-US');
  await page.getByText(`1–100 of ${some}`).waitFor();
  const records = page.getByRole('region', { name: 'The chosen node' }).locator('dd').first();
  await expect.poll(() => records.textContent(), patient).toBe(`${some}\u00a0of\u00a01,400`);
});

const days = (page: Page) => page.getByRole('slider', { name: /^Records per day of 2001-03/ });
/** What the pointer touches: the picture stands after its slider. */
const picture = (slider: Locator) => slider.locator('xpath=following-sibling::div[1]');
const expectNoHash = (page: Page, part: string) =>
  expect.poll(() => new URL(page.url()).hash, patient).not.toContain(part);

/** The middle of the nth day of 31 in the picture: the axis with its numbers stands before the first one. */
async function placeOf(page: Page, day: number): Promise<{ x: number; y: number }> {
  const box = await picture(days(page)).boundingBox();
  const line = await picture(days(page)).locator('line').first().boundingBox();
  if (box === null || line === null) throw new Error('there is no chart');
  const step = Math.min(56, (box.x + box.width - 2 - line.x) / 31);
  return { x: line.x + (day - 0.5) * step, y: box.y + box.height / 2 };
}

async function dragDays(page: Page, from: number, to: number): Promise<void> {
  const [start, end] = [await placeOf(page, from), await placeOf(page, to)];
  await page.mouse.move(start.x, start.y);
  await page.mouse.down();
  await page.mouse.move((start.x + end.x) / 2, start.y);
  await page.mouse.move(end.x, end.y);
  await page.mouse.up();
}

test('a drag over the bars filters the rows to those days, and the address keeps them', async () => {
  const page = await filled.open(bigLeaf);
  await recordRows(page).first().getByText('2001-03-01').waitFor();
  await dragDays(page, 5, 9);
  await expectHash(page, 'from=2001-03-05&to=2001-03-09');
  await recordRows(page).first().getByText('2001-03-05').waitFor();
  const { data } = (
    await filled.service.call('GET', '/enrichment/days?tenant=TX&store=DFW&month=2001-03')
  ).json;
  const inside = data.filter(
    ({ day }: { day: string }) => day >= '2001-03-05' && day <= '2001-03-09',
  );
  const sum = inside.reduce((total: number, { count }: { count: number }) => total + count, 0);
  await page.getByText(`1–100 of ${sum}`).waitFor();

  // The right edge of what is chosen, taken and moved.
  const [ninth, tenth] = [await placeOf(page, 9), await placeOf(page, 10)];
  await page.mouse.move((ninth.x + tenth.x) / 2, ninth.y);
  await page.mouse.down();
  await page.mouse.move((await placeOf(page, 12)).x, ninth.y);
  await page.mouse.up();
  await expectHash(page, 'from=2001-03-05&to=2001-03-12');

  await page.goBack();
  await expectHash(page, 'from=2001-03-05&to=2001-03-09');
  await page.reload();
  await recordRows(page).first().getByText('2001-03-05').waitFor();
  const fifth = await placeOf(page, 20);
  await page.mouse.click(fifth.x, fifth.y);
  await expectHash(page, 'from=2001-03-20&to=2001-03-20');
  await page.mouse.click(fifth.x, fifth.y);
  await expectNoHash(page, 'from=');
});

test('a finger that goes sideways over the bars chooses days', async () => {
  const page = await filled.openBlank({ viewport: { width: 390, height: 844 }, hasTouch: true });
  await page.goto(`/#${bigLeaf}`);
  await signIn(page, filled.service.token);
  await recordRows(page).first().waitFor();
  await picture(days(page)).locator('line').first().waitFor({ state: 'attached' });
  const [start, end] = [await placeOf(page, 3), await placeOf(page, 6)];
  const session = await page.context().newCDPSession(page);
  const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', x: number) =>
    session.send('Input.dispatchTouchEvent', {
      type,
      touchPoints: type === 'touchEnd' ? [] : [{ x, y: start.y }],
    });
  await touch('touchStart', start.x);
  await touch('touchMove', (start.x + end.x) / 2);
  await touch('touchMove', end.x);
  await touch('touchEnd', end.x);
  await expectHash(page, 'from=2001-03-03&to=2001-03-06');
});

test('the calendar has weeks from Monday, and says of a day what is stored', async () => {
  const page = await filled.open('/records?tenant=CA&store=DFW&view=days');
  const month = page.getByRole('grid', { name: '2001-03' });
  await month.waitFor();
  const weekdays = await month.getByRole('columnheader').allInnerTexts();
  expect(weekdays).toEqual(['Mo', 'Tu', 'We', 'Th', 'Fr', 'Sa', 'Su']);
  // 2001-03-01 was a Thursday.
  const columnOf = async (cell: Locator) => Math.round((await cell.boundingBox())?.x ?? -1);
  expect(await columnOf(day(page, '2001-03-01'))).toBe(
    await columnOf(month.getByRole('columnheader', { name: 'Thursday' })),
  );
  await day(page, '2001-03-01').focus();
  await page.getByText('Thursday, 2001-03-01', { exact: true }).waitFor();
  await page.getByText(/^\d+ records · [\d.]+ kB · cold$/).waitFor();
  await page.getByText('0 % covered', { exact: true }).waitFor();
  await page.keyboard.press('ArrowDown');
  await page.getByText('Thursday, 2001-03-08', { exact: true }).waitFor();
  await page.keyboard.press('Enter');
  await expectHash(page, 'from=2001-03-08&to=2001-03-08');
});

test('a click on the bar of a value filters the rows by it', async () => {
  const page = await filled.open(`${bigLeaf}&view=facts&panel=field/record/kind`);
  const row = page.getByRole('row', { name: /^departure/ });
  // The button lies over all of its row.
  const bar = await row.locator('svg').boundingBox();
  if (bar === null) throw new Error('the fact has no bar');
  await page.mouse.click(bar.x + bar.width / 2, bar.y + bar.height / 2);
  await expectHash(page, 'kind=departure');
  await recordRows(page).first().getByText('departure').waitFor();
  await expect.poll(() => page.locator('tbody').getByText('arrival').count(), patient).toBe(0);
});

test('FACTS shows what is in the fields as pictures, also on half a screen', async () => {
  const page = await filled.open(`${bigLeaf}&view=facts`, {
    viewport: { width: 1024, height: 768 },
  });
  await page.getByRole('columnheader', { name: 'SPREAD', exact: true }).waitFor();
  const kind = recordRows(page).filter({ hasText: 'departure' }).first();
  expect(await kind.locator('svg').count()).toBeGreaterThan(0);
});

test('RECORDS begins with all months by tier, and with the largest tenants, which lead to their records', async () => {
  const page = await filled.open('/records');
  const months = page.getByRole('slider', { name: /^Records per month/ });
  await months.focus();
  await expect
    .poll(() => months.getAttribute('aria-valuetext'), patient)
    .toBe('2001-03: 2,200 records · 600 records cold · 1,600 records hot');
  await page.getByRole('button', { name: 'bytes', exact: true }).click();
  await page.getByRole('slider', { name: /^Bytes per month/ }).waitFor();
  const largest = page.getByRole('region', { name: 'Largest tenants' }).getByRole('button');
  expect(await largest.allInnerTexts()).toEqual([
    expect.stringMatching(/^TX\s+2,200/),
    expect.stringMatching(/^CA\s+1,200/),
  ]);
  await largest.first().click();
  await expectHash(page, 'tenant=TX');
  await recordRows(page).first().waitFor();
  await page.goto('/#/retention');
  await page.getByRole('slider', { name: /^Records per month/ }).waitFor();
});
