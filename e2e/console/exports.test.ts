import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { readCsv } from '../../packages/server/test/csv.ts';
import { createJob, downloadFile, freezeVersion, untilCompleted } from '../lib/exports.ts';
import { dialogPart, drawerPart, listFindings } from './lib/axe.ts';
import { drawerOf, expectHash, patient, recordRows as rowsOf, useConsole } from './lib/browser.ts';
import { bigLeaf, bigLeafSize, startFilled } from './lib/filled-service.ts';

// The tests follow one installation: first nobody works on its jobs, then it is started anew with all
// roles, and does what waits.
const withoutWorkers = { SVC_ROLES: 'api' };

const filled = useConsole(() => startFilled(withoutWorkers));

const rowOf = (page: Page, id: string) => page.locator(`tbody tr[data-key="${id}"]`);

/** The id of the job that the page just asked for. */
async function startJob(page: Page): Promise<string> {
  // How a file begins is asked for beside it.
  const coming = page.waitForResponse(
    (answer) => answer.request().method() === 'POST' && !answer.url().endsWith('/preview'),
  );
  await page.getByRole('button', { name: 'START the job' }).click();
  const answer = await coming;
  expect(answer.status()).toBe(202);
  return ((await answer.json()) as { id: string }).id;
}

async function openPanel(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^EXPORT/ }).click();
  await drawerOf(page).getByText('1,200', { exact: true }).waitFor();
}

test('tells a token without analytics:read what the page needs', async () => {
  const body = { name: 'reader', scopes: ['enrichment:read'] };
  const made = await filled.service.call('POST', '/tokens', { body });
  const page = await filled.open('/exports', { token: made.json.token });
  await page.getByRole('heading', { name: 'This page needs the scope analytics:read' }).waitFor();
});

test('says in a plain line that there are no exports yet', async () => {
  const page = await filled.open('/exports');
  await page.getByRole('heading', { name: 'No exports yet' }).waitFor();
  await page.getByLabel('State').selectOption('failed');
  await page.getByRole('heading', { name: 'No exports with these filters' }).waitFor();
  await expectHash(page, 'state=failed');
  await page.getByRole('button', { name: 'Clear filters' }).last().click();
  await page.getByRole('heading', { name: 'No exports yet' }).waitFor();
});

test('leads from a tenant to the export of its records', async () => {
  const page = await filled.open('/exports');
  await page.getByRole('button', { name: 'New export' }).click();
  const panel = drawerOf(page);
  await panel.getByRole('heading', { name: /^NEW EXPORT/ }).waitFor();
  await panel.getByRole('link', { name: 'CA', exact: true }).waitFor();
  await panel.getByLabel('Beginning of the tenant').fill('T');
  await panel.getByRole('link', { name: 'CA', exact: true }).waitFor({ state: 'detached' });
  await panel.getByRole('link', { name: 'TX', exact: true }).click();
  await drawerOf(page).getByRole('heading', { name: 'EXPORT TX', exact: true }).waitFor();
  await expectHash(page, 'tenant=TX&panel=export');
});

let waiting = '';

test('asks for a job from the panel, which waits; cancels one, after a question', async () => {
  const page = await filled.open(bigLeaf);
  await openPanel(page);
  await page.getByText('AS A JOB').click();
  waiting = await startJob(page);
  await drawerOf(page).waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'follow it' }).click();
  await expectHash(page, `panel=export/${waiting}`);
  await drawerOf(page).getByText('waits for its turn').waitFor();
  await page.keyboard.press('Escape');
  await drawerOf(page).waitFor({ state: 'detached' });

  const { id: unwanted } = await createJob(filled.service, 'parquet', { tenant: 'CA' });
  await rowOf(page, unwanted).getByRole('button', { name: 'CANCEL' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel it' }).click();
  await page.getByText(/^Cancelled CA/).waitFor();
  await rowOf(page, unwanted).getByText('cancelled', { exact: true }).waitFor();
  expect(await rowOf(page, unwanted).getByRole('button').count()).toBe(0);
  await rowOf(page, waiting).getByText('queued', { exact: true }).waitFor();
  const { json } = await filled.service.call('GET', `/exports/${unwanted}`);
  expect(json).toMatchObject({ state: 'cancelled', has_file: false });
});

test('repaints a running job in place: focus and drawer stay', async () => {
  const page = await filled.openBlank();
  const { json: job } = await filled.service.call('GET', `/exports/${waiting}`);
  let done = 0;
  const running = () => {
    done += 100;
    const numbers = { rows_done: done, percent: done / 12, rows_per_second: 50, eta_s: 9 };
    return { ...job, state: 'running', rows_total: 1200, ...numbers };
  };
  await page.route('**/api/v1/exports?*', (route) =>
    route.fulfill({ json: { data: [running()], next_cursor: null } }),
  );
  await page.route(`**/api/v1/exports/${waiting}`, (route) => route.fulfill({ json: running() }));
  await filled.openIn(page, '/exports');
  await rowOf(page, waiting)
    .getByText(/of 1,200/)
    .waitFor();
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await drawerOf(page).getByText('50 rows/s').waitFor();
  await page.locator('h2:focus').waitFor();
  const bar = page.getByRole('progressbar').first();
  const before = Number(await bar.getAttribute('value'));
  await expect
    .poll(async () => Number(await bar.getAttribute('value')), patient)
    .toBeGreaterThan(before);
  await page.locator('h2:focus').waitFor();
  expect(await rowOf(page, waiting).getAttribute('aria-current')).toBe('true');
  await page.keyboard.press('Escape');
  await page.locator(`tr[data-key="${waiting}"]:focus`).waitFor();
});

test(
  'does what waited once the service is started anew, and downloads its whole file',
  async () => {
    await filled.service.stop();
    const service = await filled.installation.start();
    Object.assign(filled, { service });
    const page = await filled.open(`/exports?panel=export/${waiting}`);
    await drawerOf(page).getByText('its file was read back and equals the slice').waitFor();
    await untilCompleted(service, waiting);
    const { json: job } = await service.call('GET', `/exports/${waiting}`);
    expect(job).toMatchObject({ rows_total: bigLeafSize, rows_done: bigLeafSize });
    await drawerOf(page).getByText('1,200 rows', { exact: true }).waitFor();
    await drawerOf(page).getByText(job.sha256).waitFor();

    const coming = page.waitForEvent('download');
    await drawerOf(page)
      .getByRole('link', { name: /^DOWNLOAD/ })
      .click();
    const download = await coming;
    expect(download.suggestedFilename()).toBe(job.file_name);
    const file = await readFile(await download.path());
    expect(createHash('sha256').update(file).digest('hex')).toBe(job.sha256);
    expect(readCsv(file.toString('utf8'))).toHaveLength(bigLeafSize + 1);
  },
  patient.timeout * 4,
);

test('shows what proves a file, and its manifest to download', async () => {
  const page = await filled.open('/exports');
  await rowOf(page, waiting).click();
  const { json: manifest } = await filled.service.call('GET', `/exports/${waiting}/manifest`);
  const drawer = drawerOf(page);
  await drawer.getByText(/rows and digest were computed anew/).waitFor();
  expect(await drawer.getByText('equal', { exact: true }).count()).toBe(2);
  expect(await drawer.getByText(manifest.digest, { exact: true }).count()).toBeGreaterThan(1);
  const parts = drawer.getByRole('table', { name: 'Parts of the file' }).locator('tbody tr');
  expect(await parts.count()).toBe(manifest.parts.length);
  await drawer.getByText(`svcctl exports get ${waiting}`).waitFor();

  const coming = page.waitForEvent('download');
  await drawer.getByRole('link', { name: 'Download as JSON' }).click();
  const saved = await readFile(await (await coming).path(), 'utf8');
  expect(JSON.parse(saved)).toEqual(manifest);
});

test('keeps the file of a job that ends just before it is cancelled', async () => {
  const page = await filled.openBlank({ expected: [/409 \(Conflict\).*\/cancel$/] });
  const { json: job } = await filled.service.call('GET', `/exports/${waiting}`);
  // The page was told this before the job ended.
  await page.route(`**/api/v1/exports/${waiting}`, (route) =>
    route.request().method() === 'GET'
      ? route.fulfill({ json: { ...job, state: 'running', has_file: false } })
      : route.continue(),
  );
  await filled.openIn(page, `/exports?panel=export/${waiting}`);
  await drawerOf(page).getByRole('button', { name: 'CANCEL' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel it' }).click();
  await page.getByText(/^Not cancelled: .*The job is completed already/).waitFor();
  const { json } = await filled.service.call('GET', `/exports/${waiting}`);
  expect(json).toMatchObject({ state: 'completed', has_file: true });
});

test.each([
  ['its row, which leaves the list', '/exports?state=running'],
  ['its drawer', '/exports?panel=export/'],
  ['its drawer of JOBS', '/jobs?panel=job/'],
])(
  'keeps the question of a job, asked in %s, until it is answered, though the job ends',
  async (_where, place) => {
    const page = await filled.openBlank({ expected: [/409 \(Conflict\).*\/cancel$/] });
    const { json: job } = await filled.service.call('GET', `/exports/${waiting}`);
    const { json: listed } = await filled.service.call('GET', `/jobs/${waiting}`);
    let told = { state: 'running', has_file: false };
    await page.route('**/api/v1/exports?*', (route) => {
      const data = told.state === 'running' ? [{ ...job, ...told }] : [];
      return route.fulfill({ json: { data, next_cursor: null } });
    });
    await page.route(`**/api/v1/exports/${waiting}`, (route) =>
      route.fulfill({ json: { ...job, ...told } }),
    );
    await page.route(`**/api/v1/jobs/${waiting}`, (route) =>
      route.fulfill({ json: { ...listed, state: told.state } }),
    );
    await filled.openIn(page, place.endsWith('/') ? place + waiting : place);
    // The row has such a button, too, which a drawer that comes later would cover.
    const within = place.includes('panel=') ? drawerOf(page) : page;
    await within.locator('button.danger:has-text("CANCEL")').click();
    const question = page.getByRole('dialog', { name: 'Cancel this export?' });
    await question.waitFor();
    told = { state: 'completed', has_file: true };
    await page.locator('button.danger:has-text("CANCEL")').first().waitFor({ state: 'detached' });
    await question.getByRole('button', { name: 'Cancel it' }).click();
    await page.getByText(/^Not cancelled: .*The job is completed already/).waitFor();
    await page.locator('#page:focus').waitFor();
  },
);

test('exports Parquet of chosen columns and a field, and says the same as a command', async () => {
  const page = await filled.open(bigLeaf);
  await openPanel(page);
  await page.getByText('Parquet', { exact: true }).click();
  await page.getByText(/about .* as Parquet/).waitFor();
  await page.getByRole('button', { name: 'none', exact: true }).click();
  expect(await page.getByRole('button', { name: /^(START|SAVE AS)/ }).isDisabled()).toBe(true);
  await page.getByLabel('event_id').check();
  await page.getByLabel('Fields of the enrichment').fill('origin.iata');
  await page.getByText('AS A JOB').click();
  const line = page.getByRole('region', { name: 'The same on the command line' }).locator('code');
  expect(await line.innerText()).toBe(
    'svcctl analytics export --tenant TX --store DFW --month 2001-03 --format parquet --columns event_id,enrichment.origin.iata --async --out TX_DFW_2001-03.parquet',
  );
  const id = await startJob(page);
  await untilCompleted(filled.service, id);
  const { json: job } = await filled.service.call('GET', `/exports/${id}`);
  expect(job).toMatchObject({ format: 'parquet', rows_done: bigLeafSize });
  expect(job.request).toMatchObject({ columns: ['event_id', 'enrichment.origin.iata'] });
  const bytes = await downloadFile(filled.service, id);
  expect(bytes.subarray(0, 4).toString()).toBe('PAR1');
  await page.goto(`/#/exports?panel=export/${id}`);
  await drawerOf(page).getByText('event_id, enrichment.origin.iata').waitFor();
});

test('shows the columns of a typed file before it is made, as the service infers them', async () => {
  const page = await filled.open(bigLeaf);
  await page.getByRole('button', { name: /^EXPORT/ }).click();
  await page.getByText('Parquet', { exact: true }).click();
  const columns = page.locator('details').filter({ hasText: 'of fields' });
  expect(await columns.count()).toBe(0);
  await page.getByLabel('Typed fields').check();
  await columns.waitFor(patient);
  const { json } = await filled.service.call(
    'GET',
    '/exports/schema?tenant=TX&store=DFW&month=2001-03',
  );
  expect(json.columns.length).toBeGreaterThan(1);
  const text = await columns.innerText();
  expect(text).toContain(`${json.columns.length} columns of fields, by 1,200 records`);
  for (const { name } of json.columns) expect(text).toContain(name);
  expect(text).toMatch(/origin\s+STRUCT\("iata" VARCHAR/);
});

test('exports one split of a dataset version, whatever node was chosen', async () => {
  const body = { tenant: 'TX', store: 'DFW', month: '2001-03', dataset: 'training' };
  const tagged = await filled.service.call('POST', '/enrichment/tags', { body });
  expect(tagged.status, tagged.text).toBe(201);
  const shares = { train: 80, validation: 10, test: 10 };
  const named = { tenant: 'TX', dataset: 'training', name: '2001-q1', shares };
  const version = await freezeVersion(filled.service, named);
  const page = await filled.open('/records?tenant=TX');
  await page.getByRole('button', { name: /^EXPORT/ }).click();
  const panel = drawerOf(page);
  await panel.getByText('2,200', { exact: true }).waitFor();
  await panel.getByLabel('Dataset', { exact: true }).selectOption('training');
  await panel.getByText('1,200', { exact: true }).waitFor();
  await panel.getByLabel('Version', { exact: true }).selectOption('2001-q1');
  await panel.getByText(/^All that 2001-q1 froze of TX: 1,200 records/).waitFor();
  expect(await panel.getByLabel('split', { exact: true }).isChecked()).toBe(true);
  await panel.getByLabel('Split', { exact: true }).selectOption('train');
  const { count } = version.splits.train;
  await panel.getByText(`${count}`, { exact: true }).waitFor();
  await panel.getByText('AS A JOB').click();
  const id = await startJob(page);
  expect(await untilCompleted(filled.service, id)).toMatchObject({ rows_done: count });
  await page.goto(`/#/exports?panel=export/${id}`);
  const drawer = drawerOf(page);
  await drawer.getByText('train', { exact: true }).first().waitFor();
  await drawer.getByText(version.id).waitFor();
  await drawer.getByText(version.splits.train.digest).first().waitFor();
});

test('recommends a job above 500,000 rows, and leaves the choice', async () => {
  const page = await filled.openBlank();
  const files = { csv: 4e8, ndjson: 5e8, parquet: 3e7 };
  await page.route('**/api/v1/exports/estimate?*', (route) =>
    route.fulfill({ json: { rows: 500_001, bytes: 5e8, files } }),
  );
  await filled.openIn(page, bigLeaf);
  await page.getByRole('button', { name: /^EXPORT/ }).click();
  await page.getByText('Above 500,000 rows a job is recommended.').waitFor();
  await page.getByText('about 400 MB as CSV').waitFor();
  await page.getByRole('button', { name: 'START the job' }).waitFor();
  await page.getByText('DOWNLOAD NOW').click();
  await page.getByRole('button', { name: /^(SAVE AS…|START download)$/ }).waitFor();
});

test('filters by tenant and state in the hash', async () => {
  const page = await filled.open('/exports?tenant=TX&state=completed');
  await expect.poll(() => rowsOf(page).count(), patient).toBe(3);
  await page.getByLabel('Tenant, exactly').fill('CA');
  await page.getByLabel('State').selectOption('cancelled');
  await expectHash(page, 'tenant=CA&state=cancelled');
  await expect.poll(() => rowsOf(page).count(), patient).toBe(1);
  await page.getByRole('button', { name: 'Clear filters' }).click();
  await expect.poll(() => rowsOf(page).count(), patient).toBe(4);
});

test('says of a failed export why, and where its records are', async () => {
  const page = await filled.openBlank();
  const { json: job } = await filled.service.call('GET', `/exports/${waiting}`);
  const failed = {
    ...job,
    state: 'failed',
    has_file: false,
    rows_done: 800,
    percent: 66.6,
    error_code: 'version_changed',
    error: '12 records were erased. Freeze a new version.',
  };
  await page.route(`**/api/v1/exports/${waiting}`, (route) => route.fulfill({ json: failed }));
  await filled.openIn(page, `/exports?panel=export/${waiting}`);
  const fault = drawerOf(page).getByRole('alert');
  await fault.getByText('Freeze a new version.').waitFor();
  await drawerOf(page).getByRole('link', { name: 'GO TO ITS RECORDS' }).click();
  await expectHash(page, 'tenant=TX&store=DFW&month=2001-03');
});

test(
  'has no accessibility findings',
  async () => {
    const page = await filled.openBlank();
    const visit = async (name: string, part?: string) => {
      expect(await listFindings(page, { part }), name).toEqual([]);
    };
    await filled.openIn(page, '/exports');
    await rowsOf(page).first().waitFor();
    await visit('exports');
    await page.getByRole('button', { name: 'New export' }).click();
    await drawerOf(page).getByRole('link', { name: 'TX', exact: true }).waitFor();
    await visit('exports-new', drawerPart);
    await page.goto('/#/exports');
    await rowOf(page, waiting).click();
    await drawerOf(page).getByText('FILE, READ BACK').waitFor();
    await visit('exports-drawer', drawerPart);
    await drawerOf(page).getByRole('button', { name: 'REMOVE FILE' }).click();
    await page.getByRole('dialog', { name: 'Remove this file?' }).waitFor();
    await visit('exports-remove', dialogPart);
    await page.getByRole('button', { name: 'Keep it' }).click();
    await page.goto(`/#${bigLeaf}`);
    await openPanel(page);
    await page.getByText('AS A JOB').click();
    await visit('exports-panel', drawerPart);
  },
  patient.timeout * 4,
);

test('removes a file after a question; the entry stays', async () => {
  const page = await filled.open(`/exports?panel=export/${waiting}`);
  await drawerOf(page).getByRole('button', { name: 'REMOVE FILE' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await page.getByText(/^Removed the file/).waitFor();
  await drawerOf(page).getByText('its file is gone').waitFor();
  // Beside the panel there is no room for the column EXPIRES.
  await page.keyboard.press('Escape');
  await rowOf(page, waiting).getByText('gone').waitFor();
  const { json } = await filled.service.call('GET', `/exports/${waiting}`);
  expect(json).toMatchObject({ state: 'completed', has_file: false });
});
