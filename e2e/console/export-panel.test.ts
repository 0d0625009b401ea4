import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { readCsv } from '../../packages/server/test/csv.ts';
import { downloadFile, freezeVersion, untilCompleted } from '../lib/exports.ts';
import {
  drawerOf,
  expectHash,
  patient,
  recordRows,
  signIn,
  treeNode,
  useConsole,
} from './lib/browser.ts';
import { bigLeaf, bigLeafSize, startFilled } from './lib/filled-service.ts';

const run = promisify(execFile);
const svcctl = fileURLToPath(new URL('../../packages/server/bin/svcctl.cjs', import.meta.url));

const filled = useConsole(startFilled);
beforeAll(async () => {
  const body = { tenant: 'TX', store: 'DFW', month: '2001-03', dataset: 'training' };
  expect((await filled.service.call('POST', '/enrichment/tags', { body })).status).toBe(201);
});

/** A picked file whose disk takes nothing more until the test opens the gate. */
const gatedPicker = `
  window.file = { chunks: 0, isSaved: false, isAborted: false, isRemoved: false };
  const gate = new Promise((open) => { window.openGate = open; });
  window.showSaveFilePicker = async ({ suggestedName }) => {
    window.written = '';
    return {
      name: suggestedName,
      createWritable: async () => ({
        write: async (chunk) => {
          window.file.chunks += 1;
          window.written += new TextDecoder().decode(chunk);
          await gate;
        },
        close: async () => { window.file.isSaved = true; },
        abort: async () => { window.file.isAborted = true; },
      }),
      remove: async () => { window.file.isRemoved = true; },
    };
  };`;

/** Opens a place in a page that picks such files. What may be picked is looked at once an export is asked for. */
async function openPicking(place: string): Promise<Page> {
  const page = await filled.open(place);
  await page.evaluate(gatedPicker);
  return page;
}

const readFileState = (page: Page) => page.evaluate<Record<string, unknown>>('window.file');

async function openExport(page: Page, rows: string): Promise<void> {
  await page.getByRole('button', { name: /^EXPORT/ }).click();
  await drawerOf(page).getByText(rows, { exact: true }).waitFor();
}

test('cancels midway and leaves no file, even when all of it has come already', async () => {
  const page = await openPicking(bigLeaf);
  await openExport(page, '1,200');
  await page.getByRole('button', { name: 'SAVE AS…' }).click();
  await page.getByText('0 of 1,200 rows').waitFor();
  await expect.poll(async () => (await readFileState(page)).chunks, patient).toBe(1);

  await page.getByRole('button', { name: 'CANCEL' }).click();
  await page.evaluate('window.openGate()');
  await page.getByText('Cancelled. The unfinished file was removed.').waitFor();
  expect(await readFileState(page)).toEqual({
    chunks: 1,
    isSaved: false,
    isAborted: true,
    isRemoved: true,
  });

  await page.getByRole('button', { name: 'SAVE AS…' }).click();
  await page.getByText('rows = count: 1,200 = 1,200').waitFor();
  expect(await readFileState(page)).toMatchObject({ isSaved: true });
  expect(readCsv(await page.evaluate<string>('window.written'))).toHaveLength(bigLeafSize + 1);
});

test('follows the tree while nothing runs, and keeps to its slice while it does', async () => {
  const page = await openPicking(bigLeaf);
  await openExport(page, '1,200');
  const month = page.getByRole('treeitem', { name: /^2001-02/ }).first();
  await month.click();
  const title = drawerOf(page).getByRole('heading', { name: /^EXPORT/ });
  await title.getByText('2001-02').waitFor();
  await drawerOf(page).getByText('200', { exact: true }).waitFor();

  await page.getByRole('button', { name: 'SAVE AS…' }).click();
  await page.getByText('0 of 200 rows').waitFor();
  await treeNode(page, 'CA').click();
  await page.getByRole('heading', { name: 'CA', exact: true }).waitFor();
  await page.getByText('0 of 200 rows').waitFor();
  await title.getByText('2001-02').waitFor();
  await page.goto('/#/records');
  await drawerOf(page).waitFor({ state: 'detached' });
  await page.getByText('0 of 200 rows').waitFor();
  await page.evaluate('window.openGate()');
  await page.getByText('rows = count: 200 = 200').waitFor();
  await page.getByRole('button', { name: 'Close', exact: true }).click();
  await page.getByText('rows = count: 200 = 200').waitFor({ state: 'detached' });

  await page.goto(`/#${bigLeaf}&panel=export`);
  await drawerOf(page).getByText('1,200', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'SAVE AS…' }).waitFor();
});

test('says how it ended beside another node, until one more is chosen', async () => {
  const page = await openPicking(bigLeaf);
  await openExport(page, '1,200');
  await page.getByRole('button', { name: 'SAVE AS…' }).click();
  await page.getByText('0 of 1,200 rows').waitFor();
  await treeNode(page, 'CA').click();
  await page.getByRole('heading', { name: 'CA', exact: true }).waitFor();
  await page.evaluate('window.openGate()');
  await drawerOf(page).getByText('rows = count: 1,200 = 1,200').waitFor();
  const title = drawerOf(page).getByRole('heading', { name: /^EXPORT/ });
  await title.getByText('2001-03').waitFor();
  await treeNode(page, 'TX').click();
  await drawerOf(page).getByText('2,200', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'SAVE AS…' }).waitFor();
});

test.each([
  ['NDJSON', 'TX_DFW_2001-03.ndjson', 'rows = count: 1,200 = 1,200'],
  ['Parquet', 'TX_DFW_2001-03.parquet', 'All of it came: 1,200 rows'],
])('writes %s into a picked file, and claims no more than it saw', async (name, file, claim) => {
  const page = await openPicking(bigLeaf);
  await openExport(page, '1,200');
  await page.getByText(name, { exact: true }).click();
  await page.getByText(`as ${name}`).waitFor();
  await page.evaluate('window.openGate()');
  await page.getByRole('button', { name: 'SAVE AS…' }).click();
  await drawerOf(page).getByText(claim).waitFor();
  await drawerOf(page).getByText(file).first().waitFor();
  expect(await readFileState(page)).toMatchObject({ isSaved: true });
});

test('downloads gzip NDJSON by the one-use link, under a telling name', async () => {
  const page = await filled.open(bigLeaf);
  await page.evaluate('delete window.showSaveFilePicker');
  await openExport(page, '1,200');
  await page.getByText('NDJSON', { exact: true }).click();
  await page.getByLabel('Compression').selectOption('gzip');
  const coming = page.waitForEvent('download');
  await page.getByRole('button', { name: 'START download' }).click();
  const download = await coming;
  expect(download.suggestedFilename()).toMatch(/^TX_DFW_2001-03.*\.ndjson\.gz$/);
  const lines = gunzipSync(await readFile(await download.path()))
    .toString('utf8')
    .trimEnd();
  expect(lines.split('\n')).toHaveLength(bigLeafSize);
});

test('goes on in the corner when its panel is closed, and can be cancelled from there', async () => {
  const page = await openPicking(bigLeaf);
  await openExport(page, '1,200');
  await page.getByRole('button', { name: 'SAVE AS…' }).click();
  await page.getByText('0 of 1,200 rows').waitFor();
  await page.keyboard.press('Escape');
  await drawerOf(page).waitFor({ state: 'detached' });
  await page.getByText('0 of 1,200 rows').waitFor();
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await page.getByRole('button', { name: 'CANCEL' }).click();
  await page.evaluate('window.openGate()');
  await page.getByText('Cancelled. The unfinished file was removed.').waitFor();
});

test('shows the version again whose export was made small', async () => {
  const { service } = filled;
  const version = await freezeVersion(service, { tenant: 'TX', dataset: 'training', name: 'q1' });
  const page = await openPicking(`/records?tenant=TX&panel=export/${version.id}`);
  await page.getByRole('button', { name: 'SAVE AS…' }).click();
  await page.getByText('0 of 1,200 rows').waitFor();
  await page.getByRole('button', { name: 'Make small' }).click();
  await page.getByRole('button', { name: 'Show', exact: true }).click();
  await page.evaluate('window.openGate()');
  await drawerOf(page).getByText('rows = count: 1,200 = 1,200').waitFor();
  await expectHash(page, `panel=export/${version.id}`);
});

test('says before the download what a spreadsheet would cut', async () => {
  const page = await filled.openBlank();
  await page.route(/estimate\?.*profile=spreadsheet/, async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ json: { ...(await answer.json()), rows: 2_000_000 } });
  });
  await filled.openIn(page, bigLeaf);
  await openExport(page, '1,200');
  const cut = drawerOf(page).getByText('room for 1,048,575 of these 2,000,000 rows');
  expect(await cut.count()).toBe(0);
  await drawerOf(page).getByText('Spreadsheet', { exact: true }).click();
  await cut.waitFor();
});

test('tells a token without analytics:read why it may not export', async () => {
  const page = await filled.openBlank();
  const body = { name: 'reader', scopes: ['enrichment:read'] };
  const answer = await filled.service.call('POST', '/tokens', { body });
  await page.goto(`/#${bigLeaf}`);
  await signIn(page, answer.json.token);
  await recordRows(page).first().waitFor();
  const button = page.getByRole('button', { name: /^EXPORT/ });
  expect(await button.getAttribute('aria-disabled')).toBe('true');
  await page.getByText('needs analytics:read').waitFor();
  // Reached by key as well as by mouse, and told to both.
  const reason = page.getByRole('tooltip').getByText('preset support-readonly');
  await page.getByRole('button', { name: 'Copy digest' }).focus();
  await page.keyboard.press('Tab');
  await reason.waitFor();
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  await reason.waitFor({ state: 'detached' });
  await button.hover();
  await reason.waitFor();
  await button.click({ force: true });
  expect(await drawerOf(page).count()).toBe(0);
});

/** Runs a line in a shell that knows svcctl; answers the one file that it left. */
async function runLine(line: string): Promise<{ name: string; rows: number }> {
  const dir = await mkdtemp(join(tmpdir(), 'svcctl-line-'));
  try {
    const script = `svcctl() { "${process.execPath}" "${svcctl}" "$@"; }\n${line}`;
    const { url, token } = filled.service;
    const env = { PATH: process.env.PATH, HOME: dir, SVC_URL: url, SVC_TOKEN: token };
    await run('sh', ['-c', script], { cwd: dir, env, timeout: 60_000 });
    const names = (await readdir(dir)).filter((name) => name.endsWith('.csv'));
    expect(names).toHaveLength(1);
    const name = names[0] ?? '';
    const csv = await readFile(join(dir, name), 'utf8');
    return { name, rows: readCsv(csv).length - 1 };
  } finally {
    await rm(dir, { recursive: true });
  }
}

test(
  'shows the command line, which exports the same rows',
  async () => {
    const page = await filled.open(`${bigLeaf}&from=2001-03-02&to=2001-03-03`);
    await recordRows(page).first().waitFor();
    await page.locator('section[aria-label="The chosen node"] dd').first().waitFor();
    await openExport(page, '86');
    const line = await page
      .getByRole('region', { name: 'The same on the command line' })
      .locator('code')
      .innerText();
    expect(await runLine(line)).toEqual({ name: 'TX_DFW_2001-03-02_2001-03-03.csv', rows: 86 });
  },
  patient.timeout * 3,
);

/** The id of the job that the page just asked for. */
async function startJob(page: Page): Promise<string> {
  const coming = page.waitForResponse(
    (answer) => answer.request().method() === 'POST' && answer.status() === 202,
  );
  await page.getByRole('button', { name: 'START the job' }).click();
  return ((await (await coming).json()) as { id: string }).id;
}

// What of the panel only a job makes.

test('a split of a version with groups is made by a job alone, and nobody estimates it', async () => {
  const shares = { train: 50, validation: 0, test: 50 };
  const version = await freezeVersion(filled.service, {
    tenant: 'TX',
    dataset: 'training',
    name: 'grouped',
    shares,
    group_by: 'delay',
  });
  const page = await filled.open(`/records?tenant=TX&panel=export/${version.id}`);
  const panel = drawerOf(page);
  await panel.getByText('1,200', { exact: true }).waitFor();
  await panel.getByText('DOWNLOAD NOW').waitFor();
  const refused: string[] = [];
  page.on('response', (answer) => {
    if (answer.status() >= 400) refused.push(answer.url());
  });
  await panel.getByLabel('Split', { exact: true }).selectOption('test');
  await panel.getByText(/^The test records of grouped, whose groups are never divided/).waitFor();
  await panel.getByText('DOWNLOAD NOW').waitFor({ state: 'detached' });
  const id = await startJob(page);
  const job = await untilCompleted(filled.service, id);
  expect(job).toMatchObject({ rows_done: version.splits.test.count });
  expect(refused).toEqual([]);
});

test('a template shows its first line and what is wrong with it, and a job makes its lines', async () => {
  const page = await filled.open(bigLeaf, { expected: [/400/] });
  await page.getByRole('button', { name: /^EXPORT/ }).click();
  const panel = drawerOf(page);
  await panel.getByText('1,200', { exact: true }).waitFor();
  await panel.getByText('NDJSON', { exact: true }).click();
  await panel.getByLabel('A line is').selectOption('openai-chat');
  await panel.getByText(/have no value: \{\{prompt\}\} in 20/).waitFor();
  expect(await panel.getByRole('group', { name: 'Columns' }).count()).toBe(0);
  await panel.getByLabel('A line is').selectOption('own');
  const start = panel.getByRole('button', { name: 'START the job' });
  expect(await start.isDisabled()).toBe(true);
  const template = panel.getByLabel('Template');
  await template.fill('{"text": "{{}}"}');
  await panel.getByText(/\{\{\}\} is no path/).waitFor();
  await template.fill('{"text": ');
  await panel.getByText(/^it is no JSON/).waitFor();
  await template.fill('{"id": "{{event_id}}", "delay": "{{delay|json}}"}');
  await panel.getByText(/^The line of DFW-.* all have a value/).waitFor();
  const shown = await panel.getByRole('region', { name: 'First line' }).locator('pre').innerText();
  await panel.getByLabel('Without a value').selectOption('skip');
  expect(await panel.getByText(/--template @template.json --missing skip --async/).count()).toBe(1);
  const id = await startJob(page);
  await untilCompleted(filled.service, id);
  const [first] = (await downloadFile(filled.service, id)).toString('utf8').split('\n');
  expect(JSON.parse(shown)).toEqual(JSON.parse(first ?? ''));
});
