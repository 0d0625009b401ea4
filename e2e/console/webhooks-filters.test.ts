import { expect, test } from 'vitest';
import { waitFor } from '../lib/wait-for.ts';
import { confirm, drawerOf, recordRows as rowsOf, useConsole } from './lib/browser.ts';
import { startWebhookService } from './lib/webhook-service.ts';

const webhooks = useConsole(() => startWebhookService({ isEmpty: true }));
const post = async (path: string, body: object) =>
  (await webhooks.service.call('POST', path, { body })).json;
const report = (tenant: string, more: object) =>
  post('/incidents', { tenant, type: 'incident.created', data: {}, ...more });

test('tries a filter as it is typed, says whom it kept from an incident, and ends old secrets', async () => {
  const { service, receiver } = webhooks;
  const tenant = 'filtered';
  for (const n of [1, 2]) await report(tenant, { data: { n } });
  const { id } = await post('/webhook/endpoints', { tenant, url: `${receiver.url}/filtered/in` });
  const place = `/endpoints?tenant=${tenant}&panel=endpoint/${id}`;
  const page = await webhooks.open(place, { expected: [/403 \(Forbidden\)/] });
  const drawer = drawerOf(page);
  await drawer.getByRole('button', { name: 'Edit' }).click();
  await drawer.getByLabel('Filter').fill('n = 1');
  await drawer.getByRole('button', { name: 'Try it on the last 100 incidents' }).click();
  await drawer.getByText('1 of 2 incidents passes').waitFor();
  await drawer.getByRole('button', { name: 'Save changes' }).click();
  await page.getByText('Saved').waitFor();
  await drawer.getByRole('button', { name: 'Close settings' }).click();
  await drawer
    .getByRole('definition')
    .filter({ hasText: /^n = 1$/ })
    .waitFor();

  await service.call('POST', `/webhook/endpoints/${id}/rotate-secret`);
  await page.reload();
  await drawer.getByRole('button', { name: 'End old secrets…' }).click();
  await page.getByRole('button', { name: 'End them' }).click();
  await confirm(page, service.token);
  await drawer.getByRole('button', { name: 'End old secrets…' }).waitFor({ state: 'detached' });

  const kept = await report(tenant, { data: { n: 3 } });
  await page.goto(`/#/incidents?tenant=${tenant}&panel=inc/${kept.id}`);
  await drawer.getByRole('heading', { name: 'FILTERED OUT' }).waitFor();
  await drawer.getByRole('button', { name: `SEND it to ${id}` }).waitFor();
});

test('skips the first of a key that is blocked, and the next one goes', async () => {
  const { service, receiver } = webhooks;
  const tenant = 'ordered';
  const url = `${receiver.url}/ordered/in`;
  const { id } = await post('/webhook/endpoints', {
    ...{ tenant, url, ordered: 'store', stores: ['DFW'], max_attempts: 1 },
  });
  for (const n of [1, 2]) await report(tenant, { store: 'DFW', data: { n } });
  await waitFor('the first to block the key', async () => {
    const { json } = await service.call('GET', `/webhook/endpoints/${id}/blocked`);
    return json.data.length === 1;
  });
  receiver.answer(204);
  const page = await webhooks.open(`/endpoints?tenant=${tenant}&panel=endpoint/${id}`);
  await drawerOf(page).getByRole('definition').filter({ hasText: /^DFW$/ }).waitFor();
  const blocked = drawerOf(page).getByRole('region', { name: 'Blocked keys' });
  await blocked.getByText('DFW').waitFor();
  await blocked.getByRole('button', { name: 'SKIP' }).click();
  await page.getByText(/^Skipped dlv/).waitFor();
  await blocked.waitFor({ state: 'detached' });
  await expect.poll(() => receiver.bodiesOf('/ordered/in').length).toBe(2);
  receiver.answer(503);
});

test('a search for text goes on by itself until it is stopped', async () => {
  const page = await webhooks.open('/deliveries?tenant=ordered');
  await rowsOf(page).first().waitFor();
  const found = { data: [], next_cursor: 'next', total: null, searched_to: '2026-03-05T10:00:00Z' };
  const isSearch = (url: URL) => url.searchParams.has('text');
  await page.route(isSearch, (route) => route.fulfill({ json: found }));
  await page.goto('/#/deliveries?tenant=ordered&text=nothing');
  await page.getByText(/^searched to .*, 0 found$/).waitFor();
  await page.getByRole('button', { name: 'STOP' }).click();
  await page.getByRole('button', { name: 'STOP' }).waitFor({ state: 'detached' });
});

test('the portal pings, rotates and shows the catalogue', async () => {
  const { service, receiver } = webhooks;
  await service.call('PUT', '/webhook/event-types/order.paid', { body: { sample: { n: 1 } } });
  const { url } = await post('/webhook/portal-links', { tenant: 'acme' });
  receiver.answer(204);
  const page = await webhooks.openBlank();
  await page.goto(url);
  await rowsOf(page).first().click();
  const drawer = drawerOf(page);
  await drawer.getByRole('button', { name: 'Ping' }).click();
  await page.getByText(/Ping to .* answered 204, in \d+ ms/).waitFor();
  await drawer.getByRole('button', { name: 'Rotate secret…' }).click();
  await page.getByRole('button', { name: 'Rotate secret', exact: true }).click();
  const secret = page.getByRole('dialog', { name: 'The secret of the endpoint' });
  expect(await secret.locator('code').innerText()).toMatch(/^whsec_/);
  await secret.getByRole('button', { name: 'I have kept it' }).click();
  await page.getByRole('button', { name: 'EVENT TYPES' }).click();
  await page.getByText('order.paid').first().waitFor();
  expect(await page.getByRole('button', { name: 'New type' }).count()).toBe(0);
});
