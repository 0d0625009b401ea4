import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { downloadFile, freezeVersion, untilCompleted } from '../lib/exports.ts';
import { drawerOf, useConsole } from './lib/browser.ts';
import { bigLeaf, startFilled } from './lib/filled-service.ts';

// What of the panel only a job makes.

const filled = useConsole(startFilled);

/** The id of the job that the page just asked for. */
async function startJob(page: Page): Promise<string> {
  const coming = page.waitForResponse(
    (answer) => answer.request().method() === 'POST' && answer.status() === 202,
  );
  await page.getByRole('button', { name: 'START the job' }).click();
  return ((await (await coming).json()) as { id: string }).id;
}

test('a split of a version with groups is made by a job alone, and nobody estimates it', async () => {
  const shares = { train: 50, validation: 0, test: 50 };
  const body = { tenant: 'TX', store: 'DFW', month: '2001-03', dataset: 'training' };
  expect((await filled.service.call('POST', '/enrichment/tags', { body })).status).toBe(201);
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
