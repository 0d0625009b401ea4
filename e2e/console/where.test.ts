import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { advisoryLocks } from '../../packages/server/src/platform/postgres/locks.ts';
import { ingestBatch } from '../lib/ingest.ts';
import { withPostgres } from '../lib/postgres.ts';
import { patient, recordRows as rowsOf, useConsole } from './lib/browser.ts';
import { startEmpty } from './lib/filled-service.ts';

// Records are found by what is in them, in the table and from it.

const count = 25_000;
const filled = useConsole(startEmpty);
beforeAll(async () => {
  for (let first = 0; first < count; first += 5_000) {
    await ingestBatch(
      filled.service,
      Array.from({ length: 5_000 }, (_, i) => {
        const n = first + i;
        const [minute, second] = [Math.floor(n / 60) % 60, n % 60].map((part) =>
          String(part).padStart(2, '0'),
        );
        return {
          tenant: 'TX',
          store: 'DFW',
          event_id: `e${String(n).padStart(5, '0')}`,
          occurred_at: `2001-03-05T0${Math.floor(n / 3600)}:${minute}:${second}Z`,
          enrichment: { n, tags: n % 2 === 0 ? ['even'] : [] },
        };
      }),
    );
  }
});

const place = '/records?tenant=TX&store=DFW';

async function say(page: Page, where: string): Promise<void> {
  await page.getByLabel('What must hold of a record').fill(where);
  await page.getByLabel('What must hold of a record').press('Enter');
}

test('a where goes through all records, and stays in the address', async () => {
  const page = await filled.openList(place);
  await say(page, `n >= ${count - 6} and any(tags) = "even"`);
  await expect.poll(() => rowsOf(page).count(), patient).toBe(3);
  expect(page.url()).toContain('where=');
  await page.reload();
  await expect.poll(() => rowsOf(page).count(), patient).toBe(3);
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await expect.poll(() => rowsOf(page).count(), patient).toBeGreaterThan(3);
});

test('a where that cannot be read is told at its field, and the place is marked', async () => {
  const page = await filled.open(place, { expected: [/400 \(Bad Request\)/] });
  await say(page, 'n > "1" nad n = 2');
  await page.getByText('at character 9: expected and, or, or the end, found nad').waitFor(patient);
  await page.getByText('The filter cannot be read').waitFor();
  expect(await page.evaluate('getSelection().toString()')).toBe('n');
  await say(page, 'n = 7');
  await expect.poll(() => rowsOf(page).count(), patient).toBe(1);
});

test('a search says how far it has come, and STOP ends it with what was found', async () => {
  const page = await filled.openBlank();
  let looks = 0;
  let goOn = () => {};
  const isStopped = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  await page.route('**/api/v1/enrichment/records?*', async (route) => {
    if (route.request().url().includes('where=')) looks += 1;
    if (looks === 2) await isStopped;
    await route.continue();
  });
  await filled.openIn(page, `${place}&where=n+in+(5,+15000,+24000)`);
  await page.getByText(/1 found, searched to DFW 2001-03-05 02:46:39/).waitFor(patient);
  await page.getByRole('button', { name: 'STOP' }).click();
  goOn();
  await expect.poll(() => rowsOf(page).count(), patient).toBe(2);
  await page.getByText(/1–2 up to DFW 2001-03-05 05:33:19/).waitFor();
  await page.getByRole('button', { name: 'NEXT' }).click();
  await expect.poll(() => rowsOf(page).count(), patient).toBe(1);
  await rowsOf(page).getByText('e24000').waitFor();
});

test('COUNT asks for a job, which a reload finds again, and STOP cancels', async () => {
  const url = await filled.installation.postgresUrl();
  const page = await filled.openList(`${place}&where=n+%3C+1000`);
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const states = async () => {
    const { json } = await filled.service.call('GET', '/jobs?kind=count');
    return json.data.map(({ state }: { state: string }) => state);
  };
  await withPostgres(url, async (client) => {
    // Nobody counts without this lock.
    await client.query('select pg_advisory_lock($1)', [advisoryLocks.recordCounts]);
    await button('COUNT').click();
    await page.getByText('0 fit so far · queued').waitFor(patient);
    await button('STOP').click();
    await button('COUNT').waitFor();
    expect(await states()).toEqual(['cancelled']);
    await button('COUNT').click();
    await button('STOP').waitFor(patient);
    await page.reload();
    await page.getByText('0 fit so far · queued').waitFor(patient);
  });
  const found = page.getByText('1,000 of 25,000 fit', { exact: true });
  await found.waitFor(patient);
  await page.reload();
  await found.waitFor(patient);
  expect(await states()).toEqual(['completed', 'cancelled']);
  await say(page, 'n < 2000');
  await button('COUNT').waitFor(patient);
  await page.goBack();
  await found.waitFor(patient);
});

test('fields, signs and values are proposed while a where is written, by keyboard alone', async () => {
  const page = await filled.open(place);
  const field = page.getByLabel('What must hold of a record');
  const option = (name: RegExp) => page.getByRole('option', { name });
  await field.pressSequentially('not any(t');
  await option(/^tags\)/).waitFor(patient);
  await field.press('ArrowDown');
  await expect.poll(() => field.getAttribute('aria-activedescendant')).not.toBeNull();
  await field.press('Enter');
  await option(/^!=/).waitFor();
  await field.pressSequentially('= e');
  await option(/^"even"/).waitFor();
  await field.press('ArrowDown');
  await field.press('Enter');
  expect(await field.inputValue()).toBe('not any(tags) = "even" ');
  await option(/^and/).waitFor();
  await field.press('Escape');
  await expect.poll(() => field.getAttribute('aria-expanded')).toBe('false');
  await field.press('Enter');
  await expect.poll(() => rowsOf(page).first().innerText(), patient).toContain('e00001');
  await field.fill('n > 1 and ta = 1');
  for (let steps = 0; steps < 4; steps += 1) await field.press('ArrowLeft');
  await option(/^any\(tags\)/).click();
  expect(await field.inputValue()).toBe('n > 1 and any(tags) = 1');
});

test('an export of what a where has found is a job', async () => {
  const page = await filled.openList(`${place}&where=n+%3C+10`);
  await page.getByRole('button', { name: /^EXPORT/ }).click();
  await page.getByText('A job counts them first').waitFor();
  await page.getByRole('button', { name: 'START the job' }).click();
  await page.getByText('Export queued: TX_DFW_where.csv').waitFor(patient);
  const jobs = async () => (await filled.service.call('GET', '/exports?tenant=TX')).json.data;
  await expect
    .poll(jobs, patient)
    .toMatchObject([{ state: 'completed', rows_total: 10, request: { where: 'n < 10' } }]);
});

test('a click on a value of a field, or on a bucket of its numbers, shows the records that have it', async () => {
  const page = await filled.open(`${place}&view=facts&panel=field/enrichment/tags[]`);
  await page.getByRole('button', { name: 'even', exact: true }).click(patient);
  const field = page.getByLabel('What must hold of a record');
  await expect.poll(() => field.inputValue(), patient).toBe('any(enrichment.tags) = "even"');
  await expect.poll(() => rowsOf(page).count(), patient).toBeGreaterThan(3);
  await page.goto(`/#${place}&view=facts&panel=field/enrichment/n`);
  const buckets = page.getByRole('list', { name: 'Numbers by size' }).getByRole('button');
  await buckets.nth(1).click();
  await expect
    .poll(() => field.inputValue(), patient)
    .toMatch(/^enrichment\.n >= \d+ and enrichment\.n < \d+$/);
  await expect.poll(() => rowsOf(page).count(), patient).toBeGreaterThan(3);
});

test('FACTS of a month without records says so', async () => {
  const page = await filled.open(`${place}&month=2001-04&view=facts`);
  await page.getByRole('heading', { name: 'No records here' }).waitFor(patient);
});
