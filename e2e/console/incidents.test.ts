import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { waitFor } from '../lib/wait-for.ts';
import { expectAccessible } from './lib/axe.ts';
import {
  confirm,
  drawerOf,
  hashOf,
  patient,
  recordRows as rowsOf,
  signIn,
  useConsole,
} from './lib/browser.ts';
import { startWebhookService } from './lib/webhook-service.ts';

const webhooks = useConsole(startWebhookService);
/** An incident of acme, which acme's endpoint refused; its data has a number that JSON.parse would change. */
let big: string;
/** An incident of a tenant without endpoints. */
let lonely: string;
beforeAll(async () => {
  const { service } = webhooks;
  const body =
    '{"tenant":"acme","store":"AUS","type":"incident.updated","data":{"id":12345678901234567890}}';
  const headers = { 'content-type': 'application/json' };
  big = (await service.call('POST', '/incidents', { body, headers })).json.id;
  const nobody = { tenant: 'nobody', type: 'incident.resolved', data: {} };
  lonely = (await service.call('POST', '/incidents', { body: nobody })).json.id;
  const failed = `/incidents?deliveries=failed&store=AUS&type=incident.&tenant=acme`;
  await waitFor('the refusal of the incident', async () => {
    const { data } = (await service.call('GET', failed)).json;
    return data.length === 1;
  });
});

const rowOf = (page: Page, id: string) => page.locator(`tr[data-key="${id}"]`);

test('filters incidents by what the hash keeps, and clears the filters', async () => {
  const page = await webhooks.openList('/incidents');
  await expect.poll(() => rowsOf(page).count(), patient).toBe(44);
  expect(await rowOf(page, lonely).innerText()).toContain('none: no endpoint was to get it');
  await page.getByLabel('Tenant, exactly').fill('acme');
  await expect.poll(() => rowsOf(page).count(), patient).toBe(16);
  await page.getByRole('button', { name: 'More filters' }).click();
  await page.getByLabel('Store, exactly').fill('AUS');
  await expect.poll(() => rowsOf(page).count(), patient).toBe(1);
  expect(await rowOf(page, big).innerText()).toMatch(
    /incident\.updated[\s\S]*id: 12345678901234567890[\s\S]*1 abandoned/,
  );
  expect(hashOf(page)).toBe('#/incidents?tenant=acme&store=AUS');

  await page.goto('/#/incidents?type=incident.resolved');
  await rowOf(page, lonely).waitFor();
  // Nothing of it can be retried, and an empty column would only take room.
  expect(await page.locator('th[data-column="action"]').count()).toBe(0);
  await page.getByLabel('Deliveries', { exact: true }).selectOption('with failed deliveries');
  await page.getByRole('heading', { name: 'No incidents with these filters' }).waitFor();
  await page.reload();
  await page.getByRole('heading', { name: 'No incidents with these filters' }).waitFor();
  await page.getByRole('button', { name: 'Clear filters' }).first().click();
  await expect.poll(() => rowsOf(page).count(), patient).toBe(44);
  expect(hashOf(page)).toBe('#/incidents');

  // A range that is open at one end.
  const days = page.getByLabel(/^Days by UTC/);
  await page.getByRole('button', { name: 'More filters' }).click();
  await days.fill('2001-01-01..');
  await page.keyboard.press('Enter');
  await expect.poll(() => hashOf(page), patient).toBe('#/incidents?from=2001-01-01');
  await rowOf(page, lonely).waitFor();
  await days.fill('2001-01-01..2001-02-01');
  await page.getByRole('heading', { name: 'No incidents with these filters' }).waitFor();

  // Times of days.
  await days.fill('2001-01-01T00:00/00:01');
  await page.keyboard.press('Enter');
  await expect
    .poll(() => hashOf(page), patient)
    .toBe('#/incidents?from=2001-01-01T00:00:00Z&to=2001-01-01T00:01:00Z');
  await page.getByRole('heading', { name: 'No incidents with these filters' }).waitFor();
  const [before, after] = [-1, 1].map((days) => new Date(Date.now() + days * 86_400_000));
  await days.fill([before, after].map((at) => at?.toISOString().slice(0, 16)).join('/'));
  await page.keyboard.press('Enter');
  await rowOf(page, lonely).waitFor();

  // A name is in force at once, what could go on once Enter says so.
  await days.fill('Today');
  const today = /^#\/incidents\?from=(\d{4}-\d\d-\d\d)&to=\1$/;
  await expect.poll(() => hashOf(page), patient).toMatch(today);
  await rowOf(page, lonely).waitFor();
  await days.fill('2001-q1');
  expect(hashOf(page)).toMatch(today);
  await page.keyboard.press('Enter');
  const quarter = '#/incidents?from=2001-01-01&to=2001-03-31';
  await expect.poll(() => hashOf(page), patient).toBe(quarter);
  await page.getByRole('heading', { name: 'No incidents with these filters' }).waitFor();
});

test('shows an incident with its payload to the letter, and leads to its delivery and back', async () => {
  const page = await webhooks.openList(`/incidents?panel=inc/${big}`, {
    permissions: ['clipboard-read', 'clipboard-write'],
    expected: [/404 \(Not Found\)/],
  });
  const panel = drawerOf(page);
  await panel.getByRole('heading', { name: `INCIDENT ${big}` }).waitFor();
  await panel.locator('pre').getByText('12345678901234567890').waitFor();
  await panel.getByRole('button', { name: 'Copy payload' }).click();
  await expect
    .poll(() => page.evaluate<string>('navigator.clipboard.readText()'), patient)
    .toContain('"id": 12345678901234567890');
  const records = panel.getByRole('link', { name: /^acme › AUS › \d{4}-/ });
  expect(await records.getAttribute('href')).toMatch(
    /^#\/records\?tenant=acme&store=AUS&from=\d{4}/,
  );

  const delivery = panel.getByRole('listitem').filter({ hasText: 'abandoned' });
  await delivery.getByText('1 of 1').waitFor();
  await delivery.getByRole('link').click();
  await panel.getByRole('heading', { name: /^DELIVERY dlv_/ }).waitFor();
  await panel.getByRole('link', { name: big }).click();
  await panel.getByRole('heading', { name: `INCIDENT ${big}` }).waitFor();
  expect(hashOf(page)).toBe(`#/incidents?panel=inc/${big}`);

  await page.goto(`/#/incidents?panel=inc/${lonely}`);
  await panel.getByText('no endpoint of nobody wanted incident.resolved').waitFor();
  await page.goto('/#/incidents?panel=inc/inc_0000000000000000');
  await panel.getByRole('heading', { name: 'There is no such thing here' }).waitFor();
});

test('retries what failed of an incident, from its panel and from its row', async () => {
  const { service, receiver } = webhooks;
  receiver.answer(200);
  const page = await webhooks.openList(`/incidents?panel=inc/${big}`);
  const panel = drawerOf(page);
  await panel.getByRole('button', { name: 'RETRY', exact: true }).click();
  await page.getByText('Retry queued for').waitFor();
  await panel.getByRole('listitem').filter({ hasText: 'delivered' }).waitFor();
  await panel
    .getByRole('button', { name: /^RETRY/ })
    .first()
    .waitFor({ state: 'detached' });
  await rowOf(page, big).getByText('1 delivered').waitFor();
  expect(await rowOf(page, big).getByRole('button', { name: 'RETRY' }).count()).toBe(0);

  await page.goto('/#/incidents?tenant=globex&deliveries=failed');
  await expect.poll(() => rowsOf(page).count(), patient).toBe(15);
  const key = (await rowsOf(page).first().getAttribute('data-key')) ?? '';
  await rowsOf(page).first().focus();
  await page.keyboard.press('r');
  await rowOf(page, key).waitFor({ state: 'detached' });
  const { json } = await service.call('GET', `/incidents/${key}`);
  expect(json.deliveries.map(({ status }: { status: string }) => status)).not.toContain(
    'abandoned',
  );
});

test('erases what an incident tells, after a question and the token, and shows what remains', async () => {
  const { service } = webhooks;
  const page = await webhooks.openList(`/incidents?panel=inc%2F${lonely}`, {
    expected: [/403 \(Forbidden\)/],
  });
  const panel = drawerOf(page);
  await panel.getByRole('button', { name: 'ERASE…' }).click();
  const question = page.getByRole('dialog', { name: 'Erase what this incident tells?' });
  await question.getByRole('button', { name: 'Erase' }).click();
  await confirm(page, service.token);
  await panel.getByText('Its data was erased').waitFor(patient);
  await panel.getByText('Backups, archived WAL').waitFor();
  await panel.getByRole('button', { name: 'Copy receipt' }).waitFor();
  expect(await panel.getByRole('button', { name: 'ERASE…' }).count()).toBe(0);
  expect((await service.call('GET', `/incidents/${lonely}`)).json).toMatchObject({ data: null });
});

test('shows readers their incidents without what is for admins, and others what is needed', async () => {
  const { service } = webhooks;
  const makeToken = async (body: object) =>
    (await service.call('POST', '/tokens', { body: { name: 'guest', ...body } })).json.token;
  const reporter = await webhooks.openBlank();
  const asked: string[] = [];
  reporter.on('request', (request) => asked.push(request.url()));
  await reporter.goto(`/#/incidents?panel=inc/${big}`);
  const token = await makeToken({ scopes: ['incidents:read'], tenants: ['acme'] });
  await signIn(reporter, token);
  const panel = drawerOf(reporter);
  await panel.getByText(/dlv_\w{20}/).waitFor();
  await panel.getByText('for tokens with the scope webhooks:read').waitFor();
  await expect.poll(() => rowsOf(reporter).count(), patient).toBe(16);
  expect(await reporter.getByRole('button', { name: /^RETRY/ }).count()).toBe(0);
  expect(asked.filter((url) => url.includes('/webhook/'))).toEqual([]);

  const reader = await webhooks.openBlank();
  await reader.goto('/#/incidents');
  await signIn(reader, await makeToken({ preset: 'support-readonly' }));
  const needed = 'This page needs the scope incidents:read';
  await reader.getByRole('heading', { name: needed }).waitFor();
});

/** Axe looks at every view of the page. */
const axeMillis = 180_000;

test(
  'gives axe nothing to find, and keeps to the width',
  async () => {
    const list = '/incidents?tenant=acme&store=AUS';
    const page = await webhooks.openList(list);
    const payload = drawerOf(page).locator('pre');
    await expectAccessible(page, [
      [list, rowsOf(page)],
      [`${list}&panel=inc/${big}`, payload],
      [`${list}&panel=inc/${lonely}`, payload],
    ]);
  },
  axeMillis,
);
