import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import {
  confirm,
  confirmDialog,
  drawerOf,
  expectHash,
  patient,
  recordRows as rowsOf,
  useConsole,
} from './lib/browser.ts';
import { startFilled } from './lib/filled-service.ts';
import { flipByte, quietRetention } from './lib/retention.ts';

// The tests follow one installation: all hot, CA held, TX moved, one object damaged.
const filled = useConsole(() => startFilled(quietRetention));

/** A figure of the head, by its name. */
const figure = (page: Page, name: string) =>
  page
    .getByRole('region', { name: 'All tenants' })
    .locator('dl > div')
    .filter({ has: page.locator('dt', { hasText: name }) })
    .locator('dd')
    .first();
const expectFigure = (page: Page, name: string, text: string) =>
  expect.poll(() => figure(page, name).innerText(), patient).toBe(text);
const rowOf = (page: Page, key: string) => page.locator(`tbody tr[data-key="${key}"]`);

test('tells a token without admin what the actions need', async () => {
  const { service } = filled;
  const body = { name: 'reader', preset: 'support-readonly' };
  const made = await service.call('POST', '/tokens', { body });
  const page = await filled.open('/retention?panel=tenant/TX', { token: made.json.token });
  const needs = /need a token with the scope admin/;
  await page.getByText(/^RUN NOW and VERIFY need/).waitFor();
  await drawerOf(page).getByText(needs).waitFor();
  await drawerOf(page).getByText('hot for').waitFor();
  expect(await page.getByRole('button', { name: /RUN NOW|VERIFY|Save policy/ }).count()).toBe(0);
});

test('shows the figures of the API before anything has moved', async () => {
  const page = await filled.open('/retention');
  await expectFigure(page, 'HOT', '3,400');
  await expectFigure(page, 'COLD', '0');
  await expectFigure(page, 'DUE TO MOVE NOW', '3,400');
  await expectFigure(page, 'DUE TO BE DELETED', '0');
  await expectFigure(page, 'LAST VERIFICATION', 'never');
  await rowOf(page, 'CA')
    .getByRole('img', { name: /^hot 1,200 records.* cold 0 records/ })
    .waitFor();
  await page.locator('[data-search]').fill('T');
  await rowOf(page, 'CA').waitFor({ state: 'detached' });
  await expectHash(page, 'q=T');
  await page.getByRole('button', { name: 'journal' }).click();
  await page.getByRole('heading', { name: 'Nothing was moved yet' }).waitFor();
});

test('says of the table of Iceberg that it is empty, and how it is read', async () => {
  const page = await filled.open('/retention');
  await page.getByRole('button', { name: 'Iceberg table…' }).click();
  await drawerOf(page).getByText('no record is cold yet').waitFor();
  const lines = drawerOf(page).getByRole('region', { name: 'For readers' });
  await lines.getByText(`${filled.service.url}/iceberg`, { exact: true }).waitFor();
});

test('asks what a shorter policy deletes, and for the token before one is saved', async () => {
  const { service } = filled;
  const page = await filled.open('/retention?panel=tenant/CA', {
    expected: [/403 \(Forbidden\).*policies\/CA$/],
  });
  const form = drawerOf(page).getByRole('form', { name: 'Retention policy' });
  await form.getByLabel('Deleted after').fill('30');
  await form.getByRole('button', { name: 'Save policy' }).click();
  const question = page.getByRole('dialog', { name: 'Delete records of CA by this policy?' });
  await question.getByText('1,200 records').waitFor();
  await question.getByRole('button', { name: 'Keep it as it is' }).click();
  await question.waitFor({ state: 'detached' });

  await form.getByLabel('Deleted after').fill('');
  await form.getByRole('switch', { name: 'Legal hold' }).click();
  await form.getByRole('button', { name: 'Save policy' }).click();
  await confirm(page, service.token);
  await page.getByText(/^Saved the policy of CA/).waitFor();
  await rowOf(page, 'CA').getByText('HOLD').waitFor();
  await expectFigure(page, 'HELD BACK', '1,200');
  await expectFigure(page, 'DUE TO MOVE NOW', '2,200');
  const saved = await service.call('GET', '/retention/policies/CA');
  expect(saved.json).toMatchObject({ delete_days: null, hold: true, from_default: false });
});

test('keeps a hold that somebody else has set meanwhile, and asks before one is lifted', async () => {
  const { service } = filled;
  const readPolicy = async () => (await service.call('GET', '/retention/policies/TX')).json;
  const before = await readPolicy();
  const page = await filled.openBlank({
    expected: [/(403 \(Forbidden\)|409 \(Conflict\)).*policies\/TX$/],
  });
  await filled.openIn(page, '/retention?panel=tenant/TX');
  const form = drawerOf(page).getByRole('form', { name: 'Retention policy' });
  const hold = form.getByRole('switch', { name: 'Legal hold' });
  await form.getByLabel('Hot for').fill('77');
  const { hot_days, delete_days } = before;
  await service.call('PUT', '/retention/policies/TX', {
    body: { hot_days, delete_days, hold: true },
  });
  await form.getByRole('button', { name: 'Save policy' }).click();
  await confirm(page, service.token);
  await form.getByText(/is another one by now, and stays as it is/).waitFor();
  await drawerOf(page).getByText('set by').waitFor();
  await form.getByRole('button', { name: 'Save policy' }).click();
  await page.getByText(/^Saved the policy of TX/).waitFor();
  expect(await readPolicy()).toMatchObject({ hot_days: 77, delete_days, hold: true });

  await hold.click();
  await form.getByRole('button', { name: 'Save policy' }).click();
  const lift = page.getByRole('dialog', { name: 'Lift the legal hold of TX?' });
  await lift.getByRole('button', { name: 'Keep it as it is' }).click();
  await form.getByRole('button', { name: 'Back to the default' }).click();
  const back = page.getByRole('dialog', { name: 'Put TX under the default policy?' });
  await back.getByText('legal hold').waitFor();
  expect(await readPolicy()).toMatchObject({ hold: true });
  await back.getByRole('button', { name: 'Remove its own policy' }).click();
  await page.getByText('TX is under the default policy again.').waitFor();
  expect(await readPolicy()).toEqual(before);
});

test('shows the plan before a run, follows it, and links to its moves', async () => {
  const page = await filled.open('/retention', {
    expected: [/403 \(Forbidden\).*retention\/run$/],
  });
  await page.getByRole('button', { name: 'RUN NOW' }).click();
  const dialog = page.getByRole('dialog', { name: 'Run for all tenants' });
  await dialog.getByText('keeps 1,200 records').waitFor();
  await dialog.getByLabel('Only days before').fill('2000-01-01');
  await dialog.getByRole('button', { name: 'Nothing is due' }).waitFor();
  await dialog.getByLabel('Only days before').fill('');
  const run = dialog.getByRole('button', { name: 'Move 2,200 records' });
  await run.waitFor();
  // A day that is being written, or that no calendar has, leaves the plan, and nobody can confirm it.
  await dialog.getByLabel('Only days before').fill('2000-02-30');
  await expect.poll(() => run.isDisabled(), patient).toBe(true);
  await dialog.getByLabel('Only days before').fill('');
  await run.click();
  await confirmDialog(page).waitFor();
  await confirmDialog(page).getByRole('button', { name: 'Close' }).click();
  await confirmDialog(page).waitFor({ state: 'detached' });
  expect(await dialog.getByRole('alert').innerText()).toBe('');
  await run.click();
  await confirm(page, filled.service.token);
  await page.getByRole('progressbar', { name: 'Progress of the run' }).waitFor();
  await page.getByText('Retention run ended: 2,200 records moved.').waitFor();
  await expectFigure(page, 'HOT', '1,200');
  await expectFigure(page, 'COLD', '2,200');
  await expectFigure(page, 'DUE TO MOVE NOW', '0');
  await page.getByRole('link', { name: 'see its moves' }).click();
  await expectHash(page, 'view=journal&run=run_');
  await rowsOf(page)
    .first()
    .getByRole('img', { name: /^reached: planned, copied, verified/ })
    .waitFor();
});

test('keeps the filters of the journal in the hash, and shows both triples of a move', async () => {
  const { service } = filled;
  const page = await filled.open('/retention?view=journal');
  await rowsOf(page).first().waitFor();
  await page.getByLabel('Kind').selectOption('erase');
  await page.getByRole('heading', { name: 'No moves with these filters' }).waitFor();
  await expectHash(page, 'kind=erase');
  await page.getByRole('button', { name: 'Clear filters' }).last().click();
  await page.getByLabel('Tenant, exactly').fill('TX');
  await expectHash(page, 'tenant=TX');
  await page.reload();
  expect(await page.getByLabel('Tenant, exactly').inputValue()).toBe('TX');

  const { data } = (await service.call('GET', '/retention/moves?tenant=TX&kind=move')).json;
  const [move] = data;
  await rowOf(page, move.id).click();
  const proof = drawerOf(page).locator('table');
  await proof.getByText(move.source.digest).first().waitFor();
  expect(await proof.getByText(move.object.digest).count()).toBe(2);
  expect(await proof.getByText('equal', { exact: true }).count()).toBe(3);
  await page.goBack();
  await drawerOf(page).waitFor({ state: 'detached' });
});

test('leads from the bar of a month to the moves of its days', async () => {
  const page = await filled.open('/retention');
  const chart = page.getByRole('slider', { name: 'Records per month. Enter opens' });
  const month = (await chart.getAttribute('aria-valuetext'))?.slice(0, 7) ?? '';
  await chart.press('Enter');
  await expectHash(page, `month=${month}&view=journal`);
  await page.getByRole('button', { name: `Month ${month} ×, remove this filter` }).waitFor();

  // In the panel of a tenant, to those of the tenant.
  await page.goto(page.url().replace(/#.*/, '#/retention?panel=tenant/TX'));
  const own = drawerOf(page).getByRole('slider', { name: 'Records per month. Enter opens' });
  await own.press('Enter');
  await expectHash(page, `view=journal&tenant=TX&month=${month}`);
});

test('shows the snapshot of the table of Iceberg, as the catalogue tells it', async () => {
  const page = await filled.open('/retention?panel=iceberg');
  const { json } = await filled.service.call('GET', '/iceberg/v1/namespaces/svcctl/tables/records');
  const { metadata } = json;
  const { summary } = metadata.snapshots.at(-1);
  const records = Number(summary['total-records']).toLocaleString('en-US');
  const drawer = drawerOf(page);
  await drawer.getByText(records, { exact: true }).waitFor();
  await drawer.getByText(String(metadata['current-snapshot-id'])).first().waitFor();
  await drawer.getByText(`iceberg_scan('${json['metadata-location']}')`).waitFor();
});

test('shows the figures of the picture of a tenant on focus as well', async () => {
  const page = await filled.open('/retention');
  await rowOf(page, 'TX').waitFor();
  await rowOf(page, 'TX').focus();
  await page.keyboard.press('Tab');
  await page
    .getByRole('tooltip')
    .getByText(/^hot 0 records.*cold 2,200 records/)
    .waitFor();
});

test('marks the tier of leaves and of the chosen node in RECORDS', async () => {
  const page = await filled.open('/retention');
  await page.goto('/#/records?tenant=TX&store=AUS&open=TX/AUS//CA/AUS');
  const leaf = (key: string) => page.locator(`[role="treeitem"][data-key="${key}"]`);
  await leaf('TX/AUS/2001-03').getByText('cold').waitFor();
  await leaf('CA/AUS/2001-03').waitFor();
  expect(
    await leaf('CA/AUS/2001-03')
      .getByText(/cold|hot|mixed/)
      .count(),
  ).toBe(0);
  const facts = page.getByRole('region', { name: 'The chosen node' });
  await facts.locator('[data-tier="cold"]').waitFor();
  await facts.getByText(/in [\d.]+ [k]?B$/).waitFor();
});

test('verifies that all is equal, and lists what is not once a byte is flipped', async () => {
  const page = await filled.open('/retention');
  await page.getByRole('button', { name: 'VERIFY' }).click();
  await page.getByText(/^Verification: (all \d+ segments equal|the only segment equals)/).waitFor();
  await expect
    .poll(() => figure(page, 'LAST VERIFICATION').innerText(), patient)
    .toContain('equal');

  await flipByte(filled.installation.dataDir, 'TX');
  await page.getByRole('button', { name: 'VERIFY' }).click();
  await page.getByText(/^Verification: 1 problem found/).waitFor();
  await page.getByRole('link', { name: 'see it' }).last().click();
  await drawerOf(page)
    .getByText(/1 problem found/i)
    .waitFor();
  await drawerOf(page).getByText('object damaged').waitFor();
  await drawerOf(page)
    .getByText(/^records\/tenant=TX\/.*\.parquet$/)
    .waitFor();
  await expect
    .poll(() => figure(page, 'LAST VERIFICATION').innerText(), patient)
    .toContain('differs');
});

test('alerts of a failed move that none has made good, and of none that was called off', async () => {
  const { service } = filled;
  const [move] = (await service.call('GET', '/retention/moves?tenant=TX')).json.data;
  const page = await filled.openBlank({ expected: [/404 \(Not Found\).*mov_bad$/] });
  const failed = (id: string, code: string, error: string) => ({
    ...move,
    id,
    state: 'failed',
    failed_in: 'copied',
    planned_at: '2099-01-01T00:00:00Z',
    verified_at: null,
    switched_at: null,
    removed_at: null,
    failed_at: '2099-01-01T00:00:01Z',
    error_code: code,
    error,
  });
  await page.route('**/api/v1/retention/moves?state=failed**', (route) =>
    route.fulfill({
      json: {
        data: [
          failed('mov_bad', 'segment_damaged', 'Read back with other records. Check the store.'),
          failed('mov_off', 'not_due', 'The policy keeps these days hot by now.'),
        ],
        next_cursor: null,
      },
    }),
  );
  await filled.openIn(page, '/retention');
  const alert = page.getByRole('alert', { name: 'Failed moves' });
  await alert.getByText(/move of TX, .*, failed/).waitFor();
  await alert.getByText(/Check the store/).waitFor();
  expect(await alert.getByRole('link').count()).toBe(1);
  await alert.getByRole('link', { name: 'see the move' }).click();
  await expectHash(page, 'view=journal&panel=move/mov_bad');
});

test('says in RECORDS whose cold data is damaged, and shows none of it', async () => {
  const page = await filled.open('/retention', {
    expected: [/500 \(Internal Server Error\).*enrichment\/records/],
  });
  await page.goto('/#/records?tenant=TX&store=AUS&month=2001-03');
  const panel = page.getByRole('alert').filter({ hasText: 'segment_damaged' });
  await panel.getByText(/TX.*2001-02-01.*2001-03-28/).waitFor();
  expect(await rowsOf(page).count()).toBe(0);
});
