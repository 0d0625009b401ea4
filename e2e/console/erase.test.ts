import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { madeFolder } from '../../packages/server/test/folder.ts';
import { expectAccessible } from './lib/axe.ts';
import {
  confirm,
  confirmDialog,
  drawerOf,
  patient,
  recordRows as rowsOf,
  treeNode,
  useConsole,
  waitForRecord,
} from './lib/browser.ts';
import { startFilled } from './lib/filled-service.ts';
import { quietRetention } from './lib/retention.ts';

const root = madeFolder();
const filled = useConsole(() => startFilled({ ...quietRetention, SVC_EXPORT_ROOTS: root }));

/** The first answer to what asks for the access token once more. */
const stepUp = /403 \(Forbidden\)/;

const panelOf = drawerOf;
const eraseButton = (page: Page) => panelOf(page).getByRole('button', { name: /^ERASE/ });
const nameField = (page: Page) => panelOf(page).getByLabel(/^Type .* to confirm/);

async function countOf(query: string): Promise<number> {
  const answer = await filled.service.call('GET', `/enrichment/datasets?${query}`);
  return (answer.json.data as { count: number }[]).reduce((sum, { count }) => sum + count, 0);
}

const setHold = (tenant: string, hold: boolean) =>
  filled.service.call('PUT', `/retention/policies/${tenant}`, { body: { hot_days: 36_500, hold } });

test('a month is erased: the dry run, the name of the tenant, the token, the receipt', async () => {
  const { service } = filled;
  const slice = { tenant: 'CA', store: 'AUS', month: '2001-02' };
  const tag = await service.call('POST', '/enrichment/tags', {
    body: { ...slice, dataset: 'training' },
  });
  expect(tag.status, tag.text).toBe(201);
  const page = await filled.open('/records?tenant=CA&store=AUS&month=2001-02', {
    permissions: ['clipboard-read', 'clipboard-write'],
    expected: [stepUp],
  });
  await rowsOf(page).first().waitFor();
  await page.getByRole('button', { name: 'More actions' }).click();
  await page
    .getByText("svcctl records import 'history/*.parquet' --set tenant=CA --check")
    .waitFor();
  await page.getByRole('button', { name: 'ERASE…' }).click();
  const panel = panelOf(page);
  await panel.getByRole('heading', { name: 'ERASE CA › AUS › 2001-02' }).waitFor();
  expect(new URL(page.url()).hash).toContain('panel=erase');
  await panel.getByText('would go, for good').waitFor();
  const facts = await panel.locator('dl').innerText();
  expect(facts).toMatch(/records\s+200[\s\S]*hot\s+200[\s\S]*tags removed\s+1/);
  expect(await confirmDialog(page).count()).toBe(0);

  await nameField(page).fill('CA');
  expect(await eraseButton(page).isDisabled()).toBe(true);
  await nameField(page).fill('CA/AUS/2001-02');
  await eraseButton(page).click();
  await confirm(page, service.token);
  await panel.getByRole('heading', { name: 'ERASED CA › AUS › 2001-02' }).waitFor(patient);
  await page.getByText('Erased 200 records of CA').waitFor();
  await panel.getByRole('button', { name: 'Copy receipt' }).click();
  const copied = () => page.evaluate<string>('navigator.clipboard.readText()');
  await expect.poll(copied, patient).toContain('"erased"');
  const receipt = JSON.parse(await copied());
  expect(receipt).toMatchObject({ dry_run: false, tags_removed: 1, erased: { count: 200 } });
  const coming = page.waitForEvent('download');
  await panel.getByRole('button', { name: 'Download JSON' }).click();
  const file = await coming;
  expect(file.suggestedFilename()).toBe(`erased-CA-${receipt.id}.json`);
  expect(JSON.parse(await readFile(await file.path(), 'utf8'))).toEqual(receipt);
  await panel.getByText('Backups, archived WAL').waitFor();

  // The tree goes on without the month, and with the sums of what is left.
  await treeNode(page, '2001-02').waitFor({ state: 'detached' });
  await expect.poll(() => treeNode(page, 'AUS').innerText(), patient).toContain('200');
  expect(await countOf('tenant=CA&store=AUS')).toBe(200);
  await panel.getByRole('link', { name: receipt.id }).click();
  await panel.getByRole('heading', { name: `MOVE ${receipt.id}` }).waitFor();
});

test('the event of a record is erased from its drawer, as far as one says', async () => {
  const { service } = filled;
  const page = await filled.open('/records?tenant=CA&store=IAH&month=2001-03', {
    expected: [stepUp, /404 \(Not Found\)/],
  });
  await rowsOf(page).filter({ hasText: 'IAH-00007' }).click();
  await waitForRecord(page);
  const panel = panelOf(page);
  await panel.getByRole('button', { name: 'ERASE…' }).click();
  await panel
    .getByRole('heading', { name: /^ERASE CA › IAH › 2001-03-\d\d · event IAH-00007/ })
    .waitFor();
  await panel.getByText('1 record', { exact: true }).waitFor();
  await nameField(page).fill('CA');
  // Each month of the store has this event id: a wider reach is another question.
  await panel.getByRole('radio', { name: 'CA › IAH', exact: true }).check();
  await panel.getByText('2 records', { exact: true }).waitFor();
  expect(await nameField(page).inputValue()).toBe('');
  await nameField(page).fill('IAH-00007');
  await eraseButton(page).click();
  await confirm(page, service.token);
  await panel.getByRole('heading', { name: 'ERASED CA › IAH · event IAH-00007' }).waitFor(patient);
  await rowsOf(page).filter({ hasText: 'IAH-00007' }).waitFor({ state: 'detached' });
  expect(await countOf('tenant=CA&store=IAH')).toBe(398);
  await panel.getByRole('button', { name: 'Done' }).click();
  // It was opened from the drawer of the record, which is gone.
  await panel.getByRole('heading', { name: /^RECORD/ }).waitFor();
});

test('a thing is erased by a value of its records, and the receipt keeps why', async () => {
  const { service } = filled;
  const page = await filled.open('/records?tenant=CA&store=IAH&panel=erase', {
    expected: [stepUp],
  });
  const panel = panelOf(page);
  await panel.getByText('would go, for good').waitFor();
  await panel.getByLabel('Only of a person or a thing').fill('n');
  await panel.getByText('It is spelled FIELD=VALUE.').waitFor();
  expect(await eraseButton(page).count()).toBe(0);
  await panel.getByLabel('Only of a person or a thing').fill('n=150');
  await panel.getByRole('heading', { name: 'ERASE CA › IAH · n = 150' }).waitFor();
  await panel.getByText('2 records', { exact: true }).waitFor();
  await panel.getByLabel('Reason').fill('ticket 4711');
  await nameField(page).fill('150');
  const before = await countOf('tenant=CA&store=IAH');
  await eraseButton(page).click();
  await confirm(page, service.token);
  await panel.getByRole('heading', { name: 'ERASED CA › IAH · n = 150' }).waitFor(patient);
  await panel.getByText('ticket 4711').waitFor();
  expect(await countOf('tenant=CA&store=IAH')).toBe(before - 2);
});

test('incidents of the same days go, too, where one says so', async () => {
  const { service } = filled;
  const { json: incident } = await service.call('POST', '/incidents', {
    body: {
      tenant: 'CA',
      type: 'incident.created',
      data: { name: 'Erika' },
      occurred_at: '1999-02-03T00:00:00Z',
    },
  });
  const page = await filled.open('/records?tenant=CA&from=1999-02-03&to=1999-02-03&panel=erase', {
    expected: [stepUp],
  });
  const panel = panelOf(page);
  await panel.getByText('No record is here to erase.').waitFor();
  await panel.getByRole('checkbox', { name: /^Also incidents/ }).check();
  await panel.getByText('what 1 incident tell').waitFor();
  await nameField(page).fill('CA/1999-02-03');
  await eraseButton(page).click();
  await confirm(page, service.token);
  await panel.getByText('Backups, archived WAL').waitFor(patient);
  expect(await panel.locator('dl').first().innerText()).toMatch(/incidents\s+1/);
  expect((await service.call('GET', `/incidents/${incident.id}`)).json).toMatchObject({
    data: null,
  });
});

test('a legal hold keeps all from being erased, and is told with the way to lift it', async () => {
  const { service } = filled;
  await setHold('TX', true);
  const page = await filled.open('/records?tenant=TX&store=IAH&panel=erase', {
    expected: [stepUp, /409 \(Conflict\)/],
  });
  const panel = panelOf(page);
  await panel.getByText('TX is under legal hold: nothing of it may be erased').waitFor();
  await panel.getByText('first admin set it').waitFor();
  expect(await panel.locator('dl').innerText()).toMatch(/records\s+400/);
  expect(await nameField(page).count()).toBe(0);
  expect(await eraseButton(page).count()).toBe(0);
  const policy = panel.getByRole('link', { name: 'The policy' });
  expect(await policy.getAttribute('href')).toBe('#/retention?panel=tenant/TX');

  // A hold that was set since the dry run is told by the service.
  await setHold('TX', false);
  await page.goto('/#/records?tenant=TX&store=AUS&panel=erase');
  await nameField(page).fill('TX/AUS');
  await setHold('TX', true);
  await eraseButton(page).click();
  await confirm(page, service.token);
  await policy.waitFor();
  // Once: the refusal says nothing more than the hold, which is read again after it.
  expect(await panel.getByText('TX is under legal hold').count()).toBe(1);
  await setHold('TX', false);
  expect(await countOf('tenant=TX&store=AUS')).toBe(400);
});

test('the question follows what is chosen, and what was typed for one slice confirms no other', async () => {
  const place = '/records?tenant=TX&store=DFW&month=2001-03&kind=arrival&panel=erase';
  const page = await filled.open(place);
  const panel = panelOf(page);
  await panel.getByText('1,200 records', { exact: true }).waitFor();
  await panel.getByText('The filter kind of the page does not limit it').waitFor();
  await nameField(page).fill('TX/DFW/2001-03');
  expect(await eraseButton(page).isEnabled()).toBe(true);
  await treeNode(page, 'TX').click();
  await panel.getByRole('heading', { name: 'ERASE TX', exact: true }).waitFor();
  await panel.getByText('2,200 records', { exact: true }).waitFor();
  expect(await nameField(page).inputValue()).toBe('');
  expect(await eraseButton(page).isDisabled()).toBe(true);
  await page.goto('/#/records?tenant=TX&event=DFW-00001&panel=erase');
  await panel.getByRole('heading', { name: 'ERASE TX · event DFW-00001' }).waitFor();
  await panel.getByText('2 records', { exact: true }).waitFor();
  await page.goto('/#/records?tenant=TX&from=2031-01-01&panel=erase');
  await panel.getByText('No record is here to erase.').waitFor();
  expect(await eraseButton(page).count()).toBe(0);
});

test('nobody but admins is offered it, and a link tells others what is needed', async () => {
  const { service } = filled;
  const body = { name: 'curator', preset: 'curator' };
  const { token } = (await service.call('POST', '/tokens', { body })).json;
  const page = await filled.open('/records?tenant=TX&store=DFW&month=2001-03', { token });
  await rowsOf(page).first().click();
  await waitForRecord(page);
  expect(await page.getByText('ERASE…').count()).toBe(0);
  expect(await page.getByRole('button', { name: 'More actions' }).count()).toBe(0);
  await page.goto('/#/records?tenant=TX&panel=erase');
  await panelOf(page).getByRole('heading', { name: 'NEEDS admin' }).waitFor();
});

/** Axe looks at every view of the page. */
const axeMillis = 180_000;

test(
  'gives axe nothing to find, and keeps to the width',
  async () => {
    await setHold('CA', true);
    const page = await filled.open('/records');
    // The rows behind the panel are few, because axe looks at each of them.
    await expectAccessible(
      page,
      ['CA', 'TX'].map((tenant) => [
        `/records?tenant=${tenant}&event=AUS-00003&kind=arrival&panel=erase`,
        panelOf(page)
          .filter({ hasText: `ERASE ${tenant} · event AUS-00003` })
          .locator('dl'),
      ]),
    );
    await setHold('CA', false);
  },
  axeMillis,
);

// What schedules deliver, which an erasure leaves where it is.

const nightly = { tenant: 'TX', name: 'by-night', cron: '0 2 * * *', format: 'csv' };

test('a schedule is made, run, paused, resumed and deleted', async () => {
  const { service } = filled;
  const page = await filled.open('/exports', { expected: [stepUp, /400 \(Bad Request\)/] });
  await page.getByRole('button', { name: 'SCHEDULES' }).click();
  await page.getByText('No schedules yet').waitFor();
  await page.getByRole('button', { name: 'New schedule' }).click();
  const drawer = drawerOf(page);
  await drawer.getByLabel('Tenant').fill('TX');
  await drawer.getByLabel('Name').fill('nightly');
  await drawer.getByLabel('To', { exact: true }).fill('/etc/exports');
  const make = drawer.getByRole('button', { name: 'Try the place, and make it' });
  await make.click();
  await confirm(page, service.token);
  // What is refused says so at its field.
  await drawer.getByText(/does not lie below a folder of SVC_EXPORT_ROOTS/).waitFor();
  await drawer.getByLabel('To', { exact: true }).fill(`${root}/{tenant}`);
  await make.click();
  await page.getByText('Made nightly').waitFor();

  // It opens, and runs.
  await drawer.getByText('There was none yet.').waitFor();
  await drawer.getByRole('button', { name: 'RUN NOW' }).click();
  await page.getByText('A run of nightly begins').waitFor();
  await drawer.getByRole('link', { name: 'completed' }).waitFor(patient);
  await expect.poll(() => readdir(join(root, 'TX')), patient).toHaveLength(1);
  const [folder = ''] = await readdir(join(root, 'TX'));
  await drawer.getByText(folder).waitFor(patient);
  await drawer.getByRole('button', { name: 'CHANGE…' }).click();
  await drawer.getByLabel('To', { exact: true }).fill('/etc/exports');
  const save = drawer.getByRole('button', { name: 'Try the place, and save' });
  await save.click();
  await drawer.getByText(/does not lie below a folder of SVC_EXPORT_ROOTS/).waitFor();
  await drawer.getByLabel('To', { exact: true }).fill(`${root}/elsewhere`);
  await save.click();
  await page.getByText('Changed nightly').waitFor();
  await drawer.getByText(`${root}/elsewhere`).waitFor();
  await drawer.getByRole('button', { name: 'PAUSE' }).click();
  await page.getByText('Paused nightly').waitFor();
  await drawer.getByRole('button', { name: 'RESUME' }).click();
  await page.getByText('nightly goes on').waitFor();

  // Its runs are among the exports, which lead back.
  await drawer.getByRole('link', { name: 'in the list' }).click();
  await rowsOf(page).filter({ hasText: 'nightly' }).first().click();
  await drawer.getByText('DELIVERY').waitFor();
  await drawer.getByRole('link', { name: 'nightly' }).click();
  await drawer.getByRole('button', { name: 'DELETE…' }).click();
  const question = page.getByRole('dialog', { name: 'Delete this schedule?' });
  await question.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('Deleted nightly').waitFor();
  await page.getByText('No schedules yet').waitFor();
});

test('a run whose file was erased since is told, and is no failure', async () => {
  const { service } = filled;
  const body = { ...nightly, store: 'AUS', to: `${root}/erased` };
  const { id } = (await service.call('POST', '/exports/schedules', { body })).json;
  const path = `/exports/schedules/${id}`;
  await service.call('POST', `${path}/run`);
  const last = async () => (await service.call('GET', path)).json.last_run;
  await expect.poll(async () => (await last())?.delivered_at ?? null, patient).not.toBeNull();
  const days = { tenant: 'TX', store: 'AUS', from: '2001-02-01', to: '2001-02-28' };
  expect((await service.call('POST', '/enrichment/erase', { body: days })).json.id).toMatch(/^mov/);
  expect(await last()).toMatchObject({ state: 'erased' });
  const page = await filled.open('/exports?view=schedules');
  await rowsOf(page).filter({ hasText: 'by-night' }).click();
  await drawerOf(page)
    .getByText(/What was delivered stays/)
    .waitFor();
  expect(await drawerOf(page).getByRole('alert').count()).toBe(0);
  await service.call('DELETE', path);
});

test('a schedule makes lines by a template of one’s own', async () => {
  const { service } = filled;
  const page = await filled.open('/exports', { expected: [stepUp, /400 \(Bad Request\)/] });
  await page.getByRole('button', { name: 'SCHEDULES' }).click();
  await page.getByRole('button', { name: 'New schedule' }).click();
  const drawer = drawerOf(page);
  await drawer.getByLabel('Tenant').fill('TX');
  await drawer.getByLabel('Name').fill('lines');
  await drawer.getByLabel('To', { exact: true }).fill(`${root}/lines`);
  await drawer.getByLabel('Format').selectOption('ndjson');
  await drawer.getByLabel('A line is').selectOption('own');
  const make = drawer.getByRole('button', { name: 'Try the place, and make it' });
  expect(await make.isDisabled()).toBe(true);
  const template = drawer.getByLabel('Template');
  await template.fill('{"text": ');
  await drawer.getByText(/it is no JSON/).waitFor();
  await template.fill('{"text": "{{label"}');
  await make.click();
  await confirm(page, service.token);
  // What only the service knows is said at the field, too.
  await drawer.getByText(/a \{\{ has no end/).waitFor();
  await template.fill('{"text": "{{kind}}"}');
  await make.click();
  await page.getByText('Made lines').waitFor();
  await drawer.getByText('one of its own').waitFor();
  const made = await service.call('GET', '/exports/schedules?tenant=TX');
  expect(made.json.data).toMatchObject([{ request: { template: { text: '{{kind}}' } } }]);
  await service.call('DELETE', `/exports/schedules/${made.json.data[0].id}`);
});

test('who is no admin sees schedules and changes none', async () => {
  const { service } = filled;
  const body = { ...nightly, to: `${root}/seen` };
  const { id } = (await service.call('POST', '/exports/schedules', { body })).json;
  const reader = { name: 'reader', preset: 'support-readonly' };
  const { token } = (await service.call('POST', '/tokens', { body: reader })).json;
  const page = await filled.open('/exports?view=schedules', { token });
  await rowsOf(page).filter({ hasText: 'by-night' }).click();
  await drawerOf(page).getByText('There was none yet.').waitFor();
  expect(await page.getByRole('button', { name: /NEW SCHEDULE|RUN NOW|DELETE/i }).count()).toBe(0);
  await service.call('DELETE', `/exports/schedules/${id}`);
});
