import { expect, test } from 'vitest';
import { hashOf, patient, useConsole } from './lib/browser.ts';
import { startFilled } from './lib/filled-service.ts';

const filled = useConsole(() => startFilled());

test('a view is saved under a name, found by it in the palette, renamed and deleted', async () => {
  const page = await filled.open('/records?tenant=TX&kind=departure');
  const dialog = page.getByRole('dialog', { name: 'Saved views' });
  await page.getByRole('button', { name: 'VIEWS', exact: true }).click();
  await dialog.getByText('RECORDS · tenant TX · kind departure').waitFor();
  await dialog.getByLabel('Name', { exact: true }).fill('Late ones');
  await dialog.getByLabel('Name', { exact: true }).press('Enter');
  await dialog.getByRole('link', { name: 'Late ones' }).waitFor(patient);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });

  await page.goto(`${filled.service.url}/#/exports`);
  await page.getByRole('heading', { name: 'EXPORTS' }).waitFor(patient);
  await page.keyboard.press('Control+k');
  await page.keyboard.insertText('view late');
  await page.getByRole('option', { name: 'View Late ones' }).waitFor(patient);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'RECORDS' }).waitFor(patient);
  expect(hashOf(page)).toBe('#/records?tenant=TX&kind=departure');

  await page.keyboard.press('Control+k');
  await page.keyboard.insertText('save this view');
  await page.keyboard.press('Enter');
  await dialog.getByRole('button', { name: 'RENAME Late ones' }).click();
  await dialog.getByLabel('New name').fill('Departures');
  await dialog.getByLabel('New name').press('Enter');
  await dialog.getByRole('link', { name: 'Departures' }).waitFor(patient);
  await dialog.getByRole('button', { name: 'DELETE Departures' }).click();
  await dialog.getByText('No views yet.').waitFor(patient);
  const { json } = await filled.service.call('GET', '/views');
  expect(json.data).toEqual([]);
});
