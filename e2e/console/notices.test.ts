import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { useReceiver } from '../../packages/server/test/receiver.ts';
import { listFindings } from './lib/axe.ts';
import {
  confirm,
  confirmDialog,
  drawerOf,
  patient,
  recordRows as rowsOf,
  tabTo,
  useConsole,
} from './lib/browser.ts';
import { startFilled } from './lib/filled-service.ts';

const filled = useConsole(() => startFilled({ SVC_ALLOW_TARGETS: '127.0.0.0/8' }));
const receiver = useReceiver();

/** The first answer to what asks for the access token once more. */
const stepUp = /403 \(Forbidden\)/;

test('somebody is told from now on, tried, and told nothing more, by keys alone', async () => {
  const { service } = filled;
  const page = await filled.open('/access?view=notices', { expected: [stepUp] });
  const reach = async (selector: string) => {
    await page.locator(selector).first().waitFor();
    await tabTo(page, selector);
    await page.keyboard.press('Enter');
  };
  await reach('button:has-text("Tell somebody")');
  await tabTo(page, 'aside[data-drawer] input');
  await page.keyboard.type(receiver.url('/pager'));
  await reach('button:has-text("Tell from now on")');
  await confirmDialog(page).waitFor();
  await tabTo(page, '[role="dialog"] input');
  await page.keyboard.type(service.token);
  await page.keyboard.press('Enter');
  const code = drawerOf(page).locator('code').first();
  await expect.poll(() => code.innerText(), patient).toMatch(/^whsec_/);
  const secret = await code.innerText();
  await reach('button:has-text("I have kept it")');

  const row = rowsOf(page).filter({ hasText: '/pager' });
  await row.getByText('everything').waitFor();
  await tabTo(page, 'tbody tr[data-key]');
  await reach('button:has-text("TEST")');
  await page.getByText(/^The test reached .*\/pager in \d+ ms$/).waitFor();
  await row.getByText('arrived').waitFor();
  const [{ body, headers } = { body: '', headers: {} }] = await receiver.waitFor(1);
  expect(new Webhook(secret).verify(body, headers)).toMatchObject({ type: 'svcctl.notices' });

  await tabTo(page, 'tbody tr[data-key]');
  await reach('button:has-text("REMOVE")');
  await reach('[role="dialog"] button:has-text("Remove")');
  await page.getByText(/^Removed: .*\/pager$/).waitFor();
  await page.getByText('Nobody is told').waitFor();
});

test('a URL that is refused says why at its field, and a failed test says so in the list', async () => {
  const { service } = filled;
  const body = { kind: 'webhook', url: 'http://127.0.0.1:9/nobody' };
  const { id } = (await service.call('POST', '/notify/targets', { body })).json;
  const page = await filled.open('/access?view=notices', {
    expected: [/400 \(Bad Request\)/, stepUp],
  });
  await page.getByRole('button', { name: 'Tell somebody' }).click();
  await drawerOf(page).getByLabel('URL').fill('http://10.0.0.1/in');
  await page.getByRole('button', { name: 'Tell from now on' }).click();
  await confirm(page, service.token);
  await drawerOf(page).locator('[id$="-error"]').first().waitFor();
  expect(await drawerOf(page).getByLabel('URL').getAttribute('aria-invalid')).toBe('true');
  await page.keyboard.press('Escape');

  await page.getByRole('button', { name: 'TEST http://127.0.0.1:9/nobody' }).click();
  await page.getByText(/^The test did not reach http:\/\/127\.0\.0\.1:9\/nobody\. /).waitFor();
  await rowsOf(page).filter({ hasText: 'nobody' }).getByText('failed').waitFor();
  await service.call('DELETE', `/notify/targets/${id}`);
});

test('gives axe nothing to find', async () => {
  const { service } = filled;
  const body = { kind: 'webhook', url: 'http://127.0.0.1:9/axe' };
  const { id } = (await service.call('POST', '/notify/targets', { body })).json;
  const page = await filled.open('/access?view=notices');
  await rowsOf(page).first().waitFor();
  expect(await listFindings(page)).toEqual([]);
  await page.getByRole('button', { name: 'Tell somebody' }).click();
  await drawerOf(page).getByLabel('Of everything').uncheck();
  expect(await listFindings(page)).toEqual([]);
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'REMOVE http://127.0.0.1:9/axe' }).click();
  await page.getByRole('dialog').waitFor();
  expect(await listFindings(page)).toEqual([]);
  await service.call('DELETE', `/notify/targets/${id}`);
});
