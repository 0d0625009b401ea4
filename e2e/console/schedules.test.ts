import { mkdtempSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { confirm, drawerOf, patient, recordRows as rowsOf, useConsole } from './lib/browser.ts';
import { startFilled } from './lib/filled-service.ts';

const root = mkdtempSync(join(tmpdir(), 'svcctl-console-'));
afterAll(() => rm(root, { recursive: true, force: true }));
const filled = useConsole(() => startFilled({ SVC_EXPORT_ROOTS: root }));

/** The first answer to what asks for the access token once more. */
const stepUp = /403 \(Forbidden\)/;
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
