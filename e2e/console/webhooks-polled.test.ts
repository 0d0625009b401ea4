import { expect, test } from 'vitest';
import { waitFor } from '../lib/wait-for.ts';
import {
  confirm,
  drawerOf,
  patient,
  pollMillis,
  recordRows as rowsOf,
  useConsole,
} from './lib/browser.ts';
import { messages } from './lib/dead-letters.ts';
import { reportIncidents, startWebhookService } from './lib/webhook-service.ts';

// As much waits for the endpoint of TX, whose deliveries all failed once, as may wait of a tenant.
const webhooks = useConsole(() => startWebhookService({ env: { SVC_TENANT_WAITING: '12' } }));

test('makes an endpoint that is polled, whose receiver fetches by HTTP and by command line', async () => {
  const { service, installation } = webhooks;
  const page = await webhooks.open('/endpoints', { expected: [/403 \(Forbidden\)/] });
  await page.getByRole('button', { name: 'New endpoint' }).click();
  const panel = drawerOf(page);
  await panel.getByLabel('Tenant').fill('initech');
  await panel.getByLabel('How it gets events').selectOption('pull: its receiver fetches them');
  expect(await panel.getByLabel('URL').count()).toBe(0);
  await panel.getByLabel('Name').fill('The desk');
  await panel.getByRole('button', { name: 'Make the endpoint' }).click();
  await confirm(page, service.token);
  await page.getByRole('button', { name: 'I have kept it' }).click();
  await panel.getByText('none yet').waitFor();
  const [{ id }] = (await service.call('GET', '/webhook/endpoints?tenant=initech')).json.data;

  await reportIncidents(service, 'initech', 3);
  const shape = { name: 'initech-receiver', scopes: ['deliveries:poll'], tenants: ['initech'] };
  const { token } = (await service.call('POST', '/tokens', { body: shape })).json;
  const path = `/webhook/endpoints/${id}/deliveries/poll`;
  const polled = await service.call('GET', `${path}?limit=2`, { token });
  expect(polled.json.data.map(({ body }: { body: string }) => JSON.parse(body).data.n)).toEqual([
    0, 1,
  ]);
  const after = encodeURIComponent(polled.json.next_cursor);
  expect((await service.call('GET', `${path}?after=${after}`, { token })).json.data).toHaveLength(
    1,
  );
  await page.reload();
  await panel.getByText('by initech-receiver').waitFor();
  await panel.getByText('1, not acknowledged').waitFor();

  // What was not acknowledged comes again, to whoever asks next.
  const { code, output } = await installation.run(['endpoints', 'poll', id, '--once']);
  expect([code, output.match(/"webhook-id"/g)]).toEqual([0, ['"webhook-id"']]);
  expect(output).toContain('1 delivery, acknowledged.');
  await page.reload();
  await page.getByRole('row', { name: 'The desk · polled by its receiver' }).waitFor();
  await panel.getByText('nothing that is not acknowledged').waitFor();
  const { data } = (await service.call('GET', '/webhook/deliveries?tenant=initech')).json;
  expect(data.map(({ status }: { status: string }) => status)).toEqual(Array(3).fill('delivered'));
  await page.goto('/#/deliveries?tenant=initech');
  await page.getByRole('row', { name: 'polled by its receiver' }).first().waitFor();
});

test('sends an endpoint an incident that was held back from it, because too much waited', async () => {
  const { service, receiver, endpoints } = webhooks;
  const id = endpoints['/tx/in'] ?? '';
  const isHeldBack = async () =>
    (await service.call('GET', `/webhook/endpoints/${id}`)).json.held_back !== null;
  await waitFor('incidents to be held back', isHeldBack);
  await reportIncidents(service, 'TX', 1);
  receiver.answer(200);
  const page = await webhooks.open('/incidents?tenant=TX', { hasClock: true });
  await rowsOf(page).first().click();
  await drawerOf(page).getByText('HELD BACK: TOO MUCH WAITED').waitFor();
  const count = receiver.bodiesOf('/tx/in').length;
  await drawerOf(page)
    .getByRole('button', { name: `SEND it to ${id}` })
    .click();
  await messages(page).getByText('It goes once less waits for the endpoint').waitFor();
  await page.getByRole('link', { name: 'follow it' }).click();
  await drawerOf(page).getByText('too much waits for its endpoint').waitFor();
  const filter = { body: { status: 'pending', endpoint_id: id } };
  expect((await service.call('POST', '/webhook/dlq/retry', filter)).status).toBe(202);
  await expect.poll(() => receiver.bodiesOf('/tx/in').length, patient).toBe(count + 13);
  await drawerOf(page).getByText('completed').first().waitFor();
  await page.goBack();
  await page.clock.fastForward(pollMillis);
  await drawerOf(page).getByText('HELD BACK: TOO MUCH WAITED').waitFor({ state: 'detached' });
  receiver.answer(503);
});

test('purges a type of a group of dead letters after its count and the token, is held in JOBS, and leaves the others', async () => {
  const { service } = webhooks;
  const page = await webhooks.open('/dlq', { hasClock: true, expected: [/403 \(Forbidden\)/] });
  await page.getByRole('button', { name: 'groups' }).click();
  const group = rowsOf(page).filter({ hasText: 'globex' });
  await group.getByRole('button', { name: 'Purge' }).click();
  const dialog = page.getByRole('dialog', { name: 'Purge all' });
  await dialog.getByText('15 deliveries will be discarded for good').waitFor();
  await dialog.getByLabel('Event type').fill('incident');
  await dialog.getByText('no deliveries will be discarded').waitFor();
  await dialog.getByLabel('Event type').fill('incident.*');
  await dialog.getByText('15 deliveries will be discarded for good').waitFor();
  await dialog.getByLabel('Rate').fill('1');
  await dialog.getByRole('button', { name: 'Discard 15 deliveries' }).click();
  await confirm(page, service.token);
  const strip = page.getByRole('region', { name: 'Bulk jobs' });
  await strip.getByText('incident.').waitFor();
  const [{ id }] = (await service.call('GET', '/webhook/dlq/jobs?action=purge')).json.data;
  const jobs = await webhooks.open(`/jobs?panel=job/${id}`);
  await drawerOf(jobs).getByRole('button', { name: 'PAUSE' }).click();
  await drawerOf(jobs).getByRole('button', { name: 'RESUME' }).waitFor();
  await service.call('PATCH', `/webhook/dlq/jobs/${id}`, { body: { rate: 1000 } });
  await drawerOf(jobs).getByRole('button', { name: 'RESUME' }).click();
  await drawerOf(jobs).getByText('completed').first().waitFor();
  await page.clock.fastForward(pollMillis);
  await strip.getByText('15 of 15').waitFor();
  await group.waitFor({ state: 'detached' });
  await strip.getByRole('link', { name: '15 discarded' }).click();
  await expect.poll(() => rowsOf(page).count(), patient).toBe(15);
  const { total } = (await service.call('GET', '/webhook/dlq?status=abandoned&limit=1')).json;
  expect(total).toBe(15);
});
