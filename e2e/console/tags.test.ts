import type { Locator, Page } from 'playwright-core';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { runRetention } from '../lib/retention.ts';
import { drawerPart, listFindings } from './lib/axe.ts';
import { confirm, drawerOf, expectHash, patient, recordRows, useConsole } from './lib/browser.ts';
import { bigLeaf, startFilled } from './lib/filled-service.ts';
import { quietRetention } from './lib/retention.ts';
import { holdBack } from './lib/weather.ts';

// It stands before the pages, so that it comes after they are closed.
afterEach(async () => {
  for (const tag of await listTags())
    await filled.service.call('DELETE', `/enrichment/tags/${tag.id}`);
});
const filled = useConsole(() => startFilled(quietRetention));
beforeAll(() => runRetention(filled.service, { tenant: 'CA' }));

async function listTags(): Promise<{ id: string; dataset: string; from: string | null }[]> {
  return (await filled.service.call('GET', '/enrichment/tags')).json.data;
}

async function tag(body: Record<string, string>): Promise<void> {
  const answer = await filled.service.call('POST', '/enrichment/tags', { body });
  expect(answer.status).toBe(201);
}

const leaf = { tenant: 'TX', store: 'DFW', month: '2001-03' };
const node = (page: Page, key: string) => page.locator(`[role="treeitem"][data-key="${key}"]`);
const day = (page: Page, date: string) => page.locator(`[data-day="${date}"]`);
const facts = (page: Page) => page.getByRole('region', { name: 'The chosen node' });
const panel = (page: Page, name: string) => page.getByRole('complementary', { name });
const dialog = (page: Page, name: string | RegExp) => page.getByRole('dialog', { name });
const expectText = (target: Locator, text: string | RegExp) =>
  expect.poll(() => target.innerText(), patient).toMatch(text);
const expectLabel = (target: Locator, text: string | RegExp) =>
  expect.poll(() => target.getAttribute('aria-label'), patient).toMatch(text);

test('says what a token lacks, and opens no dialog', async () => {
  const { service } = filled;
  const body = { name: 'reader', preset: 'support-readonly' };
  const { token } = (await service.call('POST', '/tokens', { body })).json;
  const page = await filled.open(bigLeaf, { token });
  await recordRows(page).first().waitFor();
  await page.getByText('needs datasets:write').waitFor();
  await page.getByRole('button', { name: 'TAG…' }).click({ force: true });
  await page.keyboard.press('t');
  expect(await page.getByRole('dialog').count()).toBe(0);
});

test('counts how many records of a tag fit a where, what is large by a job, and tags whole days', async () => {
  const page = await filled.open(bigLeaf, { expected: [/400 \(Bad Request\)/] });
  await recordRows(page).first().waitFor();
  await page.getByRole('button', { name: 'TAG…' }).click();
  const question = panel(page, 'TAG DAYS OF TX › DFW');
  await question.getByRole('button', { name: 'TAG 1,200 records' }).waitFor();
  const field = question.getByLabel('Where');
  await field.pressSequentially('kin');
  await page.getByRole('option', { name: /^kind/ }).waitFor();
  await field.press('Escape');
  await field.fill('kind = "arrival" nad');
  await field.press('Enter');
  await question.getByText('at character 18: expected and, or, or the end, found nad').waitFor();
  const where = 'kind = "arrival"';
  await field.fill(where);
  await field.press('Enter');
  const query = new URLSearchParams({ ...leaf, where });
  const counted = await filled.service.call('GET', `/enrichment/records/count?${query.toString()}`);
  expect(counted.json.count).toBeGreaterThan(0);
  expect(counted.json.count).toBeLessThan(1_200);
  await question.getByText(`${counted.json.count} of 1,200 fit`, { exact: true }).waitFor();

  await page.route('**/api/v1/enrichment/records/count?*', async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), next_cursor: 'more' } });
  });
  await question.getByLabel(/^Days by UTC/).fill('2001-03-02..2001-03-31');
  await question.getByText(/^\d+ of 1,\d+ fit so far$/).waitFor();
  await question.getByRole('button', { name: 'COUNT' }).click();
  await question.getByText(/^\d+ of 1,\d+ fit$/).waitFor(patient);
  expect(await listTags()).toEqual([]);
  await question.getByRole('button', { name: /^TAG 1,\d+ records/ }).click();
  await question.waitFor({ state: 'detached' });
  expect(await listTags()).toMatchObject([{ from: '2001-03-02' }]);
});

test('tags a month: its bar, its figures and its calendar follow in place, and UNDO takes it back', async () => {
  const page = await filled.open(`${bigLeaf}&view=days`);
  await expectLabel(day(page, '2001-03-01'), /^1, 2001-03-01: \d+ records, hot, 0 of/);
  await page.keyboard.press('t');
  const question = panel(page, 'TAG DAYS OF TX › DFW');
  await question.getByLabel('Note').fill('spring');
  await question.getByRole('button', { name: 'TAG 1,200 records' }).click();
  await question.waitFor({ state: 'detached' });
  await page.getByText('Tagged 1,200 records as training.').waitFor();
  await expectText(node(page, 'TX/DFW/2001-03'), /100 %/);
  await expectText(node(page, 'TX/DFW'), /85 %/);
  await expectText(node(page, 'TX'), /54 %/);
  await expectText(facts(page), /1,200 of 1,200 covered, training 1,200, fine-tuning 0, in both 0/);
  await expectLabel(day(page, '2001-03-01'), /(\d+) of \1 covered, training \1/);

  await page.getByRole('button', { name: 'UNDO' }).click();
  await page.getByText('The tag is gone again.').waitFor();
  await expectText(node(page, 'TX'), /0 %/);
  await expectLabel(day(page, '2001-03-01'), /hot, 0 of/);
  expect(await listTags()).toEqual([]);
});

test('warns before records are in both datasets, and shows both', async () => {
  await tag({ ...leaf, dataset: 'training' });
  const page = await filled.open('/records?tenant=TX');
  await recordRows(page).first().waitFor();
  await page.getByRole('button', { name: 'TAG…' }).click();
  const question = panel(page, 'TAG DAYS OF TX');
  // It begins with the months that have records; a quarter is one click.
  const days = question.getByLabel(/^Days by UTC/);
  expect(await days.inputValue()).toBe('2001-02-01..2001-03-31');
  // What has the tag already is neither promised nor counted again.
  await question
    .getByText(/ days are training data already; new: \d+ days, 1,000 records\.$/)
    .waitFor();
  await question.getByRole('button', { name: 'TAG 1,000 new records' }).waitFor();
  await days.fill('2001-02');
  await page.keyboard.press('Enter');
  await question.getByRole('button', { name: 'TAG 600 records' }).waitFor();
  await question.getByRole('button', { name: '2001 Q1' }).click();
  expect(await days.inputValue()).toBe('2001-Q1');
  await question.getByLabel('fine-tuning').click();
  await question.getByText(/^1,200 of them will be in both datasets/).waitFor();
  await question.getByRole('button', { name: 'TAG 2,200 records' }).click();
  await expectText(
    facts(page),
    /2,200 of 2,200 covered, training 1,200, fine-tuning 2,200, in both 1,200/,
  );
  await expectText(node(page, 'TX'), /100 %/);
});

test('lists the tags that touch a node, and untags after a question', async () => {
  await tag({ ...leaf, dataset: 'training', note: 'spring' });
  await tag({ tenant: 'TX', from: '2001-02-01', to: '2001-02-05', dataset: 'fine_tuning' });
  const page = await filled.open(`${bigLeaf}&view=tags`);
  const rows = recordRows(page);
  await page.getByText('1 tag touches').or(rows.first()).first().waitFor();
  await expect.poll(() => rows.count(), patient).toBe(1);
  await expectText(rows.first(), /training\s+DFW\s+2001-03\s+1,200\s+first admin\s+spring/);
  await page.goto('/#/records?tenant=TX&view=tags');
  await expect.poll(() => rows.count(), patient).toBe(2);
  await expectText(rows.first(), /fine-tuning\s+all stores\s+2001-02-01 … 2001-02-05/);

  await rows.first().getByRole('button', { name: 'UNTAG' }).click();
  const question = dialog(page, 'Untag 2001-02-01 … 2001-02-05 of TX?');
  await question.getByRole('button', { name: 'Keep the tag' }).click();
  await question.waitFor({ state: 'detached' });
  await rows.first().getByRole('button', { name: 'UNTAG' }).click();
  await question.getByRole('button', { name: 'UNTAG' }).click();
  await expect.poll(() => rows.count(), patient).toBe(1);
});

test('chooses days in the calendar by drag and by key, and tags them', async () => {
  const page = await filled.open('/records?tenant=TX&store=DFW&view=days');
  await expectLabel(day(page, '2001-02-03'), /records, hot/);
  await day(page, '2001-02-03').hover();
  await page.mouse.down();
  await day(page, '2001-02-10').hover();
  await day(page, '2001-03-02').hover();
  await page.mouse.up();
  await expectHash(page, 'from=2001-02-03&to=2001-03-02');
  await day(page, '2001-02-03').focus();
  await page.keyboard.press('PageDown');
  await page.locator('[data-day="2001-03-03"]:focus').waitFor();
  await page.keyboard.press('Enter');
  await expectHash(page, 'from=2001-03-03&to=2001-03-03');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Shift+Enter');
  await expectHash(page, 'from=2001-03-03&to=2001-03-04');

  await page.getByRole('button', { name: 'TAG these days…' }).click();
  const question = panel(page, 'TAG DAYS OF TX › DFW');
  expect(await question.getByLabel(/^Days by UTC/).inputValue()).toBe('2001-03-03..2001-03-04');
  await question.getByRole('button', { name: /^TAG \d+ records/ }).click();
  await expectLabel(day(page, '2001-03-04'), /(\d+) of \1 covered/);
  await expectLabel(day(page, '2001-03-05'), /: \d+ records, hot, 0 of/);
  await page.getByRole('button', { name: 'SHOW RECORDS' }).click();
  await recordRows(page).first().getByText('2001-03-03').waitFor();
});

test('filters the records by dataset, and keeps that in the hash', async () => {
  await tag({
    tenant: 'TX',
    store: 'DFW',
    from: '2001-03-03',
    to: '2001-03-04',
    dataset: 'training',
  });
  const page = await filled.open(bigLeaf);
  await recordRows(page).first().getByText('2001-03-01').waitFor();
  await page.getByLabel('Dataset').selectOption('training');
  await recordRows(page).first().getByText('2001-03-03').waitFor();
  const { by_dataset } = (
    await filled.service.call('GET', '/enrichment/datasets?tenant=TX&store=DFW&month=2001-03')
  ).json.data[0];
  await page.getByText(`of ${by_dataset.training}`).waitFor();
  await expectHash(page, 'dataset=training');
  await page.getByLabel('Dataset').selectOption('fine_tuning');
  await page.getByRole('heading', { name: 'No records with these filters' }).waitFor();
  await page.getByRole('button', { name: 'Clear filters' }).first().click();
  await recordRows(page).first().getByText('2001-03-01').waitFor();
});

test('freezes a version, follows it until it is ready, and deletes it', async () => {
  await tag({ ...leaf, dataset: 'training' });
  const page = await filled.open('/records?tenant=TX&view=versions', {
    expected: [/403 \(Forbidden\).*dataset-versions\/ver_\w+$/],
  });
  await page.getByText('No version of TX yet').waitFor();
  const other = await filled.service.call('POST', '/enrichment/dataset-versions', {
    body: { tenant: 'TX', dataset: 'training', name: 'all of it' },
  });
  const third = await filled.service.call('POST', '/enrichment/dataset-versions', {
    body: { tenant: 'TX', dataset: 'training', name: 'as well' },
  });
  await page.getByRole('button', { name: 'FREEZE…' }).click();
  const question = panel(page, 'FREEZE A DATASET OF TX');
  const frozen = question.getByRole('region', { name: 'What is frozen' });
  await frozen.getByText(/^[\d,]+ records? tagged now/).waitFor();
  await frozen.getByText(/^TX › \S+ › 2001-.* · [\d,]+ records?$/).waitFor();
  await question.getByLabel('Name').fill('2001-q1');
  await question.getByLabel('test', { exact: true }).fill('5');
  await question.getByText('80 + 10 + 5 = 95').waitFor();
  expect(await question.getByRole('button', { name: 'FREEZE', exact: true }).isDisabled()).toBe(
    true,
  );
  await question.getByLabel('test', { exact: true }).fill('10');
  await question.getByLabel('Keep together').fill('store');
  await question.getByLabel('Where').fill('kind = "arrival"');
  await question.getByRole('button', { name: 'FREEZE', exact: true }).click();

  const drawer = drawerOf(page);
  await drawer.getByRole('heading', { name: 'VERSION 2001-q1' }).waitFor();
  await drawer.getByText('ready', { exact: true }).waitFor();
  await drawer
    .getByText('svcctl analytics export --tenant TX --version 2001-q1 --format parquet --async')
    .waitFor();
  await expectHash(page, 'panel=version/ver_');
  await drawerOf(page).getByRole('button', { name: 'BUNDLE 2001-q1' }).click();
  await page.getByText('Export queued: TX_2001-q1.tar').waitFor();
  const exportsOf = async () =>
    (await filled.service.call('GET', '/exports?tenant=TX')).json.data.filter(
      ({ format }: { format: string }) => format === 'bundle',
    );
  await expect.poll(async () => (await exportsOf())[0]?.state).toBe('completed');
  await drawerOf(page).getByRole('button', { name: 'BUNDLE 2001-q1' }).click();
  await page.getByText('Bundled already: TX_2001-q1.tar').waitFor();
  expect(await exportsOf()).toHaveLength(1);
  const { data } = (await filled.service.call('GET', '/enrichment/dataset-versions?tenant=TX'))
    .json;
  const [version] = data;
  for (const part of ['train', 'validation', 'test']) {
    const row = drawer.getByRole('row', { name: new RegExp(`^${part}`) });
    await expectText(row, new RegExp(`${version.splits[part].digest}$`));
  }
  await drawer.getByText('groups by store are kept whole').waitFor();
  await drawer.getByLabel('Compare with').selectOption('all of it');
  await drawer.getByText('AGAINST all of it').waitFor();
  const gone = other.json.count - version.count;
  await expectText(drawer.getByRole('row', { name: /^only in all of it/ }), new RegExp(`${gone}$`));
  await drawer.getByText('ONLY IN all of it, THE FIRST 20').waitFor();
  // What was found of one version is not told of the next while that is read.
  const release = await holdBack(page, 'GET', '**/diff?**');
  await drawer.getByLabel('Compare with').selectOption('as well');
  await expectText(drawer.getByRole('row', { name: /^only in as well/ }), /…$/);
  release();
  await expectText(drawer.getByRole('row', { name: /^only in as well/ }), /\d$/);
  for (const { id } of [other.json, third.json]) {
    await filled.service.call('DELETE', `/enrichment/dataset-versions/${id}`);
  }
  await page.goBack();
  await drawer.waitFor({ state: 'detached' });
  await recordRows(page).filter({ hasText: '2001-q1' }).click();
  await drawer.getByRole('button', { name: 'DELETE…' }).click();
  await dialog(page, 'Delete the version 2001-q1?').getByRole('button', { name: 'DELETE' }).click();
  await confirm(page, filled.service.token);
  await page.getByText('No version of TX yet').waitFor();
  await drawer.waitFor({ state: 'detached' });
});

test('tells the fields of all records or of a sample, compares them, and leads to the records', async () => {
  const page = await filled.open(`${bigLeaf}&view=facts`);
  await page.getByText('Fields of all 1,200 records').waitFor();
  await page.route('**/api/v1/enrichment/fields?tenant=CA**', async (route) => {
    const response = await route.fetch();
    const json = { ...(await response.json()), count: 355_905, is_exact: false };
    await route.fulfill({ response, json });
  });
  await page.goto('/#/records?tenant=CA&view=facts');
  await page.getByText('in a sample of 1,200 of 355,905 records').waitFor();
  // Days that are a month have months beside them.
  await page.goto('/#/records?tenant=CA&from=2001-03-01&to=2001-03-31&view=facts');
  await page.getByLabel('Compare with').selectOption('against 2001-02');
  await page.getByText('against those').first().waitFor();
  await page.goto('/#/records?tenant=CA&view=facts');
  await recordRows(page).filter({ hasText: 'kind' }).click();
  await drawerOf(page).getByText('MOST FREQUENT VALUES').waitFor();
  await page.getByLabel('Compare with').selectOption('training');
  await expectHash(page, 'against=training');
  await page.getByText('against those').first().waitFor();
  await drawerOf(page).getByRole('button', { name: 'arrival' }).click();
  await expectHash(page, 'kind=arrival');
  await drawerOf(page).waitFor({ state: 'detached' });
  await recordRows(page).first().getByText('arrival').waitFor();
});

test('shows a field of the enrichments as a column, and remembers it', async () => {
  const page = await filled.open(bigLeaf, { viewport: { width: 1600, height: 900 } });
  const head = (name: string) => page.getByRole('columnheader', { name, exact: true });
  await head('CONFIDENCE').waitFor();
  // No record here has a model.
  expect(await head('MODEL').count()).toBe(0);
  await page.getByRole('button', { name: 'Columns', exact: true }).click();
  const box = (name: string) => page.getByRole('checkbox', { name, exact: true });
  expect(await box('MODEL').isChecked()).toBe(false);
  await box('ORIGIN.IATA').check();
  await head('ORIGIN.IATA').waitFor();
  await page.keyboard.press('Escape');
  await page.reload();
  await head('ORIGIN.IATA').waitFor();
  await expectText(recordRows(page).first(), /\bDFW\b/);
  expect(await head('DELAY').count()).toBe(0);
});

test('gives axe nothing to find', async () => {
  await tag({ ...leaf, dataset: 'training', note: 'spring' });
  await tag({ tenant: 'CA', from: '2001-02-20', to: '2001-03-10', dataset: 'fine_tuning' });
  await tag({ tenant: 'CA', store: 'DFW', dataset: 'training' });
  const body = { tenant: 'CA', dataset: 'training', name: 'axe' };
  await filled.service.call('POST', '/enrichment/dataset-versions', { body });
  const page = await filled.openBlank();
  const check = async (name: string, part?: string) =>
    expect(await listFindings(page, { part }), name).toEqual([]);
  await filled.openIn(page, '/records?tenant=CA&view=days');
  await expectLabel(day(page, '2001-02-20'), /cold, .* covered/);
  await day(page, '2001-02-21').click();
  await page.getByRole('button', { name: 'SHOW RECORDS' }).waitFor();
  await check('records-days');
  await page.getByRole('button', { name: 'TAG…' }).click();
  await page.getByText(/will be in both datasets/).waitFor();
  await check('records-tag', drawerPart);
  await page.keyboard.press('Escape');
  // To close it changes the address, which must not come after the next one.
  await drawerOf(page).waitFor({ state: 'detached' });
  await page.goto('/#/records?tenant=CA&view=facts');
  await page.getByText('Fields of all 1,200 records').waitFor();
  await check('records-facts');
  await page.goto('/#/records?tenant=CA&view=facts&against=training&panel=field/enrichment/delay');
  await drawerOf(page).getByText('OVER TIME').waitFor();
  await check('records-field');
  await page.goto('/#/records?tenant=CA&view=tags');
  await recordRows(page).first().waitFor();
  await check('records-tags');
  await page.goto('/#/records?tenant=CA&view=versions');
  await recordRows(page).filter({ hasText: 'axe' }).click();
  await drawerOf(page).getByText('ready', { exact: true }).waitFor();
  await check('records-versions');
});
