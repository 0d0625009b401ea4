import { expect, test } from 'vitest';
import { drawerOf, patient, recordRows as rowsOf, signIn, useConsole } from './lib/browser.ts';
import { keyOf, messages, retryOf } from './lib/dead-letters.ts';
import {
  abandonedCount,
  pendingCount,
  startWebhookService,
  waitForCounts,
} from './lib/webhook-service.ts';

const webhooks = useConsole(startWebhookService);

test('brings a row back that the service refuses to retry, and says why', async () => {
  const { service, endpoints } = webhooks;
  const path = `/webhook/endpoints/${endpoints['/globex/in']}`;
  const page = await webhooks.openList('/dlq?tenant=globex', { expected: [/409 \(Conflict\)/] });
  await service.call('PATCH', path, { body: { enabled: false } });
  const key = await keyOf(page, 0);
  await rowsOf(page).first().getByRole('button', { name: 'RETRY' }).click();
  await messages(page).getByText('Not retried').waitFor();
  await page.locator(`tr[data-key="${key}"]`).waitFor();
  expect(await rowsOf(page).count()).toBe(15);
  // What was selected comes back so.
  await rowsOf(page).nth(1).getByRole('checkbox').check();
  await page.getByRole('button', { name: 'Retry 1 selected' }).click();
  await messages(page).getByText('Not retried').nth(1).waitFor();
  await page.getByRole('button', { name: 'Retry 1 selected' }).waitFor();
  await service.call('PATCH', path, { body: { enabled: true } });
});

test('retries one row by a double click, and by a key that is held, and selects none that comes back', async () => {
  const { service } = webhooks;
  const page = await webhooks.openList('/dlq?tenant=globex');
  const retried: string[] = [];
  page.on('request', (request) => {
    const [, id] = /webhook\/dlq\/(.*)\/retry$/.exec(request.url()) ?? [];
    if (id !== undefined) retried.push(id);
  });
  const queued = (key: string) =>
    messages(page)
      .getByText(`Retry queued for dlv…${key.slice(-4)}`)
      .first()
      .waitFor();
  const [clicked, pressed] = [await keyOf(page, 0), await keyOf(page, 1)];
  await rowsOf(page).first().locator('input').check();
  await rowsOf(page).first().getByRole('button', { name: 'RETRY' }).dblclick();
  await queued(clicked);
  expect(retried).toEqual([clicked]);
  const row = page.locator(`tr[data-key="${clicked}"]`);
  await row.getByText(/^2\//).waitFor();
  await page.getByRole('button', { name: 'Retry selected' }).waitFor();

  await page.locator(`tr[data-key="${pressed}"]`).focus();
  await page.keyboard.down('r');
  await page.locator(`tr[data-key="${pressed}"]`).waitFor({ state: 'detached' });
  await page.keyboard.down('r');
  await page.keyboard.up('r');
  await queued(pressed);
  expect(retried).toEqual([clicked, pressed]);
  await waitForCounts(service, abandonedCount, pendingCount);
});

test('says in the drawer why a delivery cannot be retried, and retries it once it can', async () => {
  const { service, endpoints } = webhooks;
  const path = `/webhook/endpoints/${endpoints['/globex/in']}`;
  await service.call('PATCH', path, { body: { enabled: false } });
  const page = await webhooks.openList('/dlq?tenant=globex');
  const key = await keyOf(page, 0);
  await rowsOf(page).first().click();
  await drawerOf(page)
    .getByText('No RETRY: its endpoint is disabled. Enable that first.')
    .waitFor();
  expect(await retryOf(page).getAttribute('aria-disabled')).toBe('true');
  const calls: string[] = [];
  page.on('request', (request) => calls.push(`${request.method()} ${request.url()}`));
  await retryOf(page).click({ force: true });
  await service.call('PATCH', path, { body: { enabled: true } });
  await page.reload();
  await drawerOf(page).getByText('retry to send it again').waitFor();
  expect(calls.filter((call) => call.startsWith('POST'))).toEqual([]);
  await retryOf(page).click();
  await messages(page).getByText('Retry queued for').waitFor();
  await waitForCounts(service, abandonedCount, pendingCount);
  await page.locator(`tr[data-key="${key}"]`).waitFor();
});

test('DELIVERIES has RETRY on each delivery that failed', async () => {
  const { service } = webhooks;
  const page = await webhooks.open('/deliveries?tenant=globex');
  await rowsOf(page).first().waitFor();
  const { data } = (await service.call('GET', '/webhook/deliveries?tenant=globex')).json;
  for (const { id, status } of data) {
    const row = page.locator(`tr[data-key="${id}"]`);
    const isFailed = status === 'pending' || status === 'abandoned';
    expect(await row.getByRole('button', { name: 'RETRY' }).count(), status).toBe(isFailed ? 1 : 0);
  }
  const key = await keyOf(page, 0);
  await rowsOf(page).first().getByRole('button', { name: 'RETRY' }).click();
  await messages(page)
    .getByText(`Retry queued for dlv…${key.slice(-4)}`)
    .waitFor();
  await waitForCounts(service, abandonedCount, pendingCount);
});

test('shows the four newest messages, and keeps the one that has the focus', async () => {
  const { service, endpoints } = webhooks;
  const path = `/webhook/endpoints/${endpoints['/globex/in']}`;
  const page = await webhooks.openBlank({ expected: [/409 \(Conflict\)/] });
  await page.clock.install();
  await webhooks.openIn(page, '/dlq?tenant=globex');
  await rowsOf(page).first().waitFor();
  await service.call('PATCH', path, { body: { enabled: false } });
  const refused = messages(page).getByText('Not retried');
  const textOf = (key: string) => messages(page).getByText(`dlv…${key.slice(-4)}`);
  const keys: string[] = [];
  for (const row of [0, 1, 2, 3, 4]) {
    const key = await keyOf(page, row);
    keys.push(key);
    await rowsOf(page).nth(row).getByRole('button', { name: 'RETRY' }).click();
    await textOf(key).waitFor();
    await page.locator(`tr[data-key="${key}"]`).waitFor();
  }
  const [oldest = ''] = keys;
  const newest = keys.at(-1) ?? '';
  await textOf(oldest).waitFor({ state: 'detached' });
  expect(await refused.count()).toBe(4);

  await messages(page).getByRole('button', { name: 'Close message' }).last().focus();
  await page.clock.runFor(10_000);
  await expect.poll(() => refused.count(), patient).toBe(1);
  await textOf(newest).waitFor();
  await rowsOf(page).first().focus();
  await page.clock.runFor(10_000);
  await expect.poll(() => refused.count(), patient).toBe(0);
  await service.call('PATCH', path, { body: { enabled: true } });
});

test('shows nobody the messages of whoever was signed in before', async () => {
  const { service, endpoints } = webhooks;
  const path = `/webhook/endpoints/${endpoints['/globex/in']}`;
  const page = await webhooks.openList('/dlq?tenant=globex', { expected: [/409 \(Conflict\)/] });
  await service.call('PATCH', path, { body: { enabled: false } });
  await rowsOf(page).first().getByRole('button', { name: 'RETRY' }).click();
  const refused = messages(page).getByText('Not retried');
  await refused.waitFor();
  await page.getByRole('button', { name: 'Signed in as' }).click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await signIn(page, service.token);
  await page.getByRole('button', { name: 'Signed in as' }).waitFor();
  expect(await refused.count()).toBe(0);
  await service.call('PATCH', path, { body: { enabled: true } });
});

test('retries a row, which leaves at once, and follows it until it is delivered', async () => {
  const { service, receiver } = webhooks;
  const page = await webhooks.openList('/dlq?tenant=acme');
  receiver.answer(200);
  const [key, next] = [await keyOf(page, 0), await keyOf(page, 1)];
  await rowsOf(page).first().focus();
  await page.keyboard.press('r');
  await page.locator(`tr[data-key="${key}"]`).waitFor({ state: 'detached' });
  await messages(page)
    .getByText(`Retry queued for dlv…${key.slice(-4)}`)
    .waitFor();
  await page.locator(`tr[data-key="${next}"]:focus`).waitFor();
  await page.getByRole('link', { name: 'follow it' }).click();
  await drawerOf(page).getByText('the receiver took it').waitFor();
  await drawerOf(page).getByText('No RETRY: it is delivered').waitFor();
  expect(await retryOf(page).getAttribute('aria-disabled')).toBe('true');
  expect(new URL(page.url()).hash).toMatch(
    new RegExp(`#/deliveries\\?endpoint=.*panel=delivery/${key}`),
  );
  await drawerOf(page).getByText('#2').waitFor();
  expect(receiver.bodiesOf('/acme/in')).toHaveLength(16);
  // Beside the panel the table has no room for all columns.
  await page.setViewportSize({ width: 1920, height: 900 });
  await page.locator('tr[data-key]').getByRole('button', { name: 'RETRY' }).first().waitFor();
  const delivered = page.locator(`tr[data-key="${key}"]`);
  await delivered.getByText('delivered', { exact: true }).waitFor();
  expect(await delivered.getByRole('button', { name: 'RETRY' }).count()).toBe(0);
  await page.goBack();
  await rowsOf(page).first().waitFor();
  await waitForCounts(service, abandonedCount - 1, pendingCount);
});

test('retries a selection, then a group as a job that is paused, survives a reload and ends', async () => {
  const { service } = webhooks;
  const page = await webhooks.openList('/dlq?tenant=acme');
  await rowsOf(page).nth(0).locator('input').check();
  await rowsOf(page)
    .nth(4)
    .locator('input')
    .click({ modifiers: ['Shift'] });
  await page.getByRole('button', { name: 'Retry 5 selected' }).click();
  await messages(page).getByText('Retry queued for 5 deliveries').waitFor();
  await expect.poll(() => rowsOf(page).count(), patient).toBe(9);

  await page.getByRole('button', { name: 'Clear filters' }).click();
  await page.getByRole('button', { name: 'groups' }).click();
  const group = rowsOf(page).filter({ hasText: 'globex' });
  await group.getByRole('button', { name: 'Retry group' }).click();
  const dialog = page.getByRole('dialog', { name: 'Retry all' });
  await dialog.getByText('15 deliveries will be queued').waitFor();
  await dialog.getByLabel('Rate').fill('1');
  await dialog.getByRole('button', { name: 'Retry 15 deliveries' }).click();
  const strip = page.getByRole('region', { name: 'Bulk jobs' });
  await strip.getByRole('button', { name: 'Pause' }).click();
  await strip.getByRole('button', { name: 'Resume' }).waitFor();
  await page.reload();
  await strip.getByText('paused').waitFor();
  expect(await strip.innerText()).toMatch(/of 15 .*1 a second at most/s);
  await group.getByRole('button', { name: 'Retry group' }).click();
  await dialog.getByText(/A bulk retry of these.* is paused already: \d+ of 15/).waitFor();
  expect(await dialog.getByLabel('Rate').inputValue()).toBe('50');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await dialog.waitFor({ state: 'detached' });
  const [job] = (await service.call('GET', '/webhook/dlq/retries')).json.data;
  const body = { rate: 1000 };
  await service.call('PATCH', `/webhook/dlq/retries/${job.id}`, { body });
  await strip.getByRole('button', { name: 'Resume' }).click();
  await strip.getByText('15 of 15').waitFor();
  await strip.getByText('done', { exact: true }).waitFor();
  await group.waitFor({ state: 'detached' });
});

test('retries all that is left, what an endpoint kept back once more, and says that the queue is clean', async () => {
  const { service, endpoints } = webhooks;
  const path = `/webhook/endpoints/${endpoints['/tx/in']}`;
  const page = await webhooks.openList('/dlq');
  await page.getByRole('button', { name: 'Retry all…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Retry all' });
  await dialog.getByText('21 deliveries will be queued').waitFor();
  await dialog.getByLabel('Rate').fill('1');
  await dialog.getByRole('button', { name: 'Retry 21 deliveries' }).click();
  const strip = page.getByRole('region', { name: 'Bulk jobs' });
  await strip.getByRole('button', { name: 'Pause' }).click();
  await strip.getByRole('button', { name: 'Resume' }).waitFor();
  await service.call('PATCH', path, { body: { enabled: false } });
  const [job] = (await service.call('GET', '/webhook/dlq/retries')).json.data;
  await service.call('PATCH', `/webhook/dlq/retries/${job.id}`, { body: { rate: 1000 } });
  await strip.getByRole('button', { name: 'Resume' }).click();
  await strip.getByText('partly done').waitFor();
  await strip.getByText('because their endpoint was disabled meanwhile').waitFor();
  await service.call('PATCH', path, { body: { enabled: true } });
  await strip.getByRole('button', { name: 'Retry the rest' }).click();
  await page.getByRole('heading', { name: 'DLQ is clean' }).waitFor();
  expect(await page.getByText('Last checked at').innerText()).toMatch(/\d\d:\d\d:\d\d UTC/);
});
