import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { waitFor } from '../lib/wait-for.ts';
import {
  confirm,
  confirmDialog,
  drawerOf,
  pollMillis,
  recordRows as rowsOf,
  useConsole,
} from './lib/browser.ts';
import { holdBack } from './lib/weather.ts';
import { reportIncidents, startWebhookService, waitForCounts } from './lib/webhook-service.ts';

const webhooks = useConsole(() => startWebhookService({ isEmpty: true }));

const secretDialog = (page: Page) =>
  page.getByRole('dialog', { name: 'The secret of the endpoint' });

async function readSecret(page: Page): Promise<string> {
  const secret = await secretDialog(page).locator('code').innerText();
  expect(secret).toMatch(/^whsec_/);
  await secretDialog(page).getByRole('button', { name: 'I have kept it' }).click();
  await secretDialog(page).waitFor({ state: 'detached' });
  return secret;
}

test('says that a queue without rows is clean', async () => {
  const page = await webhooks.open('/dlq');
  await page.getByRole('heading', { name: 'DLQ is clean' }).waitFor();
});

test('makes an endpoint, with what is refused at its field, and pings it', async () => {
  const { service, receiver } = webhooks;
  const page = await webhooks.open('/endpoints', {
    expected: [/400 \(Bad Request\)/, /403 \(Forbidden\)/],
  });
  await page.getByRole('button', { name: 'New endpoint' }).click();
  const form = drawerOf(page);
  await form.getByLabel('Tenant').fill('initech');
  await form.getByLabel('URL').fill('https://192.168.0.1/in');
  await form.getByRole('button', { name: 'Make the endpoint' }).click();
  await confirm(page, service.token);
  await form.locator('input[name="url"][aria-invalid="true"]').waitFor();
  await form.getByLabel('URL').fill(`${receiver.url}/initech/in`);
  await form.getByLabel('Seconds before').fill('soon');
  await form.getByRole('button', { name: 'Make the endpoint' }).click();
  await form.locator('input[name="retry_schedule"][aria-invalid="true"]').waitFor();
  await form.getByLabel('Seconds before').fill('5, 300');
  await form.getByLabel('Event types').fill('incident.created, incident.craeted');
  await form.getByRole('button', { name: 'Make the endpoint' }).click();
  await secretDialog(page)
    .getByText('Mind: incident.craeted (did you mean incident.created?)')
    .waitFor();
  await readSecret(page);
  await form.getByRole('button', { name: 'Ping' }).waitFor();

  receiver.answer(200);
  await form.getByRole('button', { name: 'Ping' }).click();
  await page.getByText(/Ping to .* answered 200, in \d+ ms/).waitFor();
  await page.getByRole('link', { name: 'follow it' }).click();
  await drawerOf(page).getByText('the receiver took it').waitFor();
  await drawerOf(page).getByText('webhook.ping').first().waitFor();
  expect(receiver.bodiesOf('/initech/in')).toHaveLength(1);
  receiver.answer(503);
});

test('changes, disables and enables an endpoint', async () => {
  const { service, endpoints } = webhooks;
  const page = await webhooks.open('/endpoints?tenant=TX');
  await rowsOf(page).first().click();
  const form = drawerOf(page);
  await form.getByRole('button', { name: 'Edit' }).click();
  await form.getByLabel('Deliveries a second').fill('25');
  await form.getByRole('button', { name: 'Save changes' }).click();
  await page.getByText('Saved').waitFor();
  const saved = await service.call('GET', `/webhook/endpoints/${endpoints['/tx/in']}`);
  expect(saved.json.rate_limit).toBe(25);
  await form.getByRole('button', { name: 'Close settings' }).click();
  await form.getByText('25 a second at most').waitFor();
  await form.getByRole('button', { name: 'Disable' }).click();
  await rowsOf(page).first().getByText('disabled').waitFor();
  await form.getByRole('button', { name: 'Enable' }).click();
  await rowsOf(page).first().getByText('disabled').waitFor({ state: 'detached' });
  // What failed before it was enabled no longer counts.
  await rowsOf(page).first().locator('[data-health=ok]').waitFor();
  const answer = await service.call('GET', `/webhook/endpoints/${endpoints['/tx/in']}`);
  expect(answer.json).toMatchObject({ rate_limit: 25, enabled: true });
  await page.goBack();
  await drawerOf(page).waitFor({ state: 'detached' });
});

test('lists the endpoints first that need somebody, and enables one from its row', async () => {
  const { service, endpoints } = webhooks;
  const path = `/webhook/endpoints/${endpoints['/globex/in']}`;
  await service.call('PATCH', path, { body: { enabled: false } });
  const page = await webhooks.openList('/endpoints');
  const row = rowsOf(page).first();
  await row.getByText('globex', { exact: true }).waitFor();
  expect(await row.innerText()).not.toContain('closed');
  await row.getByRole('button', { name: 'Enable', exact: true }).click();
  await page.getByText(/^Enabled /).waitFor();
  await rowsOf(page).filter({ hasText: 'globex' }).locator('[data-health=ok]').waitFor();
  expect((await service.call('GET', path)).json.enabled).toBe(true);
  expect(await drawerOf(page).count()).toBe(0);
});

test('says how an endpoint is sent to in a section that opens where something is refused', async () => {
  const { service, endpoints } = webhooks;
  const id = endpoints['/tx/in'];
  const page = await webhooks.open(`/endpoints?panel=endpoint/${id}`, {
    expected: [/400 \(Bad Request\)/],
  });
  const form = drawerOf(page);
  await form.getByRole('button', { name: 'Edit' }).click();
  const limit = form.getByLabel('Seconds that an attempt may take');
  expect(await limit.isVisible()).toBe(false);
  await form.getByText('Delivery, uid and labels').click();
  await limit.fill('5');
  await form.getByLabel('Uid').fill('tx-in');
  await form.getByLabel('Labels').fill('team=soc');
  await form.getByLabel('Answers after which nothing').fill('400, 429');
  await form.getByRole('button', { name: 'Save changes' }).click();
  await form.locator('input[name="no_retry_on"][aria-invalid="true"]').waitFor();
  await form.getByLabel('Answers after which nothing').fill('400, 422');
  await form.getByLabel('Signature in another form').fill('X-Sig: sha256={hex}');
  await form.getByLabel('Sign with a key pair').selectOption('yes');
  await form.getByRole('button', { name: 'Save changes' }).click();
  await page.getByText('Saved').waitFor();
  const { delivery, uid, labels } = (await service.call('GET', `/webhook/endpoints/${id}`)).json;
  expect([uid, labels]).toEqual(['tx-in', { team: 'soc' }]);
  expect(delivery).toMatchObject({
    timeout_seconds: 5,
    no_retry_on: [400, 422],
    public_key: expect.any(String),
    signature: { header: 'X-Sig', value: 'sha256={hex}', signs: '{body}' },
  });
  await form.getByRole('button', { name: 'Close settings' }).click();
  await form.getByText('400, 422').waitFor();
  await form.getByText(delivery.public_key).waitFor();
});

test('asks for the token once more before a secret is rotated, and not again', async () => {
  const { service, endpoints } = webhooks;
  const page = await webhooks.open(`/endpoints?panel=endpoint/${endpoints['/tx/in']}`, {
    expected: [/40[013] \(.*(rotate-secret|confirm)$/],
  });
  const rotate = async () => {
    await drawerOf(page).getByRole('button', { name: 'Rotate secret' }).click();
    const question = page.getByRole('dialog', { name: 'Give it a new secret?' });
    await question.getByRole('button', { name: 'Rotate secret' }).click();
  };
  await rotate();
  await confirmDialog(page).getByLabel('Access token').fill('svc_wrong');
  await confirmDialog(page).getByRole('button', { name: 'Confirm' }).click();
  await confirmDialog(page).locator('[id$="-error"]').waitFor();
  await confirm(page, service.token);
  await secretDialog(page).waitFor();
  const first = await readSecret(page);
  await rotate();
  await secretDialog(page).waitFor();
  expect(await readSecret(page)).not.toBe(first);
  expect(await confirmDialog(page).count()).toBe(0);
});

test('purges a dead letter after a question and the token, and not when that is closed', async () => {
  const { service } = webhooks;
  await reportIncidents(service, 'acme', 2);
  await waitForCounts(service, 2, 0);
  const page = await webhooks.open('/dlq', { expected: [/403 \(Forbidden\)/] });
  await rowsOf(page).first().click();
  const purge = async () => {
    await drawerOf(page).getByRole('button', { name: 'PURGE' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click();
    await confirmDialog(page).waitFor();
  };
  await purge();
  await page.keyboard.press('Escape');
  await confirmDialog(page).waitFor({ state: 'detached' });
  expect(await rowsOf(page).count()).toBe(2);
  await purge();
  await confirm(page, service.token);
  await drawerOf(page).getByText('never delivered').waitFor();
  await expect.poll(() => rowsOf(page).count()).toBe(1);
});

test('deletes an endpoint after a question, which counts its dead letters, and the token', async () => {
  const { service, endpoints, receiver } = webhooks;
  const at = `/webhook/dlq?status=abandoned&endpoint_id=${endpoints['/globex/in']}`;
  receiver.answer(500);
  await reportIncidents(service, 'globex', 2);
  await waitFor(
    'what is abandoned',
    async () => (await service.call('GET', at)).json.data.length === 2,
  );
  const page = await webhooks.open(`/endpoints?panel=endpoint/${endpoints['/globex/in']}`, {
    expected: [/403 \(Forbidden\).*endpoints\/ep_\w+$/],
  });
  await drawerOf(page).getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByText('2 dead letters of it are abandoned').waitFor();
  await page.getByRole('button', { name: 'Delete, and discard 2' }).click();
  await confirm(page, service.token);
  await drawerOf(page).waitFor({ state: 'detached' });
  await expect.poll(() => rowsOf(page).filter({ hasText: 'globex' }).count()).toBe(0);
});

test('leaves an endpoint enabled that somebody else enabled while the question was open', async () => {
  const { service, endpoints, receiver } = webhooks;
  const path = `/webhook/endpoints/${endpoints['/tx/in']}`;
  await service.call('PATCH', path, { body: { enabled: false } });
  await reportIncidents(service, 'TX', 1);
  const page = await webhooks.open(`/endpoints?tenant=TX&panel=endpoint/${endpoints['/tx/in']}`, {
    hasClock: true,
  });
  await drawerOf(page).getByRole('button', { name: 'Enable…' }).click();
  const question = page.getByRole('dialog', { name: 'Enable this endpoint?' });
  await question.waitFor();
  receiver.answer(200);
  await service.call('PATCH', path, { body: { enabled: true } });
  await page.clock.fastForward(pollMillis);
  await drawerOf(page).getByText('Disable', { exact: true }).waitFor();
  await question.getByRole('button', { name: 'Enable and deliver' }).click();
  await page.getByText(/^Enabled /).waitFor();
  const endpoint = await waitFor('an empty backlog', async () => {
    const { json } = await service.call('GET', path);
    return json.backlog.count === 0 ? json : undefined;
  });
  expect(endpoint.enabled).toBe(true);
  receiver.answer(500);
});

test.each([
  [
    'in its place',
    async (page: Page) => {
      await page.getByRole('button', { name: 'New endpoint' }).click();
      await drawerOf(page).getByLabel('Tenant').fill('hooli');
    },
  ],
  [
    'on another page',
    async (page: Page) => {
      await page.getByRole('link', { name: 'INCIDENTS' }).click();
      await rowsOf(page).first().click();
      await drawerOf(page).getByText('DELIVERIES', { exact: true }).waitFor();
    },
  ],
])('closes by a late answer no panel that was opened since %s', async (_where, goOn) => {
  const { service, receiver } = webhooks;
  const body = { tenant: 'umbrella', url: `${receiver.url}/umbrella/in` };
  const { id } = (await service.call('POST', '/webhook/endpoints', { body })).json;
  const page = await webhooks.open(`/endpoints?panel=endpoint/${id}`, {
    viewport: { width: 1920, height: 900 },
    expected: [/403 \(Forbidden\)/],
  });
  await drawerOf(page).getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
  await confirmDialog(page).waitFor();
  const release = await holdBack(page, 'DELETE', `**/webhook/endpoints/${id}`);
  await confirm(page, service.token);
  await confirmDialog(page).waitFor({ state: 'detached' });
  await goOn(page);
  const hash = new URL(page.url()).hash;
  // What an answer changes is read again after that. Later it would be the next poll that is waited for.
  const readAgain = page.waitForResponse(
    (answer) => answer.request().method() === 'GET' && answer.url().includes('/api/v1/'),
  );
  release();
  await page.getByText(/^Deleted /).waitFor();
  await readAgain;
  expect(new URL(page.url()).hash).toBe(hash);
  expect(await drawerOf(page).count()).toBe(1);
});

test('asks what becomes of a backlog when an endpoint is enabled, and discards it by choice', async () => {
  const { service, endpoints } = webhooks;
  const id = endpoints['/tx/in'] ?? '';
  await service.call('PATCH', `/webhook/endpoints/${id}`, { body: { enabled: false } });
  await reportIncidents(service, 'TX', 3);
  const page = await webhooks.open(`/endpoints?tenant=TX&panel=endpoint/${id}`, {
    expected: [/403 \(.*discard-backlog$/],
  });
  await drawerOf(page).getByRole('link', { name: '3 waiting' }).waitFor();
  await drawerOf(page).getByText('Nothing is sent until somebody enables it').waitFor();
  await drawerOf(page).getByRole('button', { name: 'Enable…' }).click();
  const question = page.getByRole('dialog', { name: 'Enable this endpoint?' });
  await question.getByRole('button', { name: 'Enable and discard' }).click();
  await confirmDialog(page).getByLabel('Access token').fill(service.token);
  await confirmDialog(page).getByRole('button', { name: 'Confirm' }).click();
  await drawerOf(page).getByRole('link', { name: 'nothing waits' }).waitFor();
  await drawerOf(page).getByRole('button', { name: 'Disable' }).waitFor();
  const discarded = await service.call(
    'GET',
    `/webhook/deliveries?endpoint_id=${id}&status=discarded`,
  );
  expect(discarded.json.data).toHaveLength(3);
});

test('leads from OVERVIEW to why an endpoint fails, to its dead letters, their retry and its outcome', async () => {
  const { service, receiver, endpoints } = webhooks;
  const id = endpoints['/acme/in'] ?? '';
  receiver.answer(503);
  await reportIncidents(service, 'acme', 22);
  const isFailing = async () =>
    (await service.call('GET', `/webhook/endpoints/${id}`)).json.health === 'failing';
  await waitFor('a pause after failures', isFailing);

  const page = await webhooks.open('/', { hasClock: true });
  await page.getByRole('link', { name: /^webhooks of acme to .* keep failing$/ }).click();
  const story = drawerOf(page).getByRole('region', { name: 'How it fared' });
  await story.getByText('503').first().waitFor();
  await drawerOf(page).getByText('Paused after 20 failures in a row.').waitFor();
  // Behind its panel are those that fare as it does.
  await page.keyboard.press('Escape');
  await rowsOf(page).filter({ hasText: 'acme' }).click();
  expect(await rowsOf(page).count()).toBe(1);
  await story.getByText('{"said":503}').waitFor();
  await story.getByRole('slider', { name: /^Attempts per hour/ }).waitFor();
  const marks = story.getByRole('list', { name: 'Its newest attempts' }).getByRole('link');
  await marks.first().waitFor();
  expect(await marks.first().getAttribute('title')).toMatch(/UTC · refused by status.* · \d+ ms$/);
  expect(await marks.first().innerText()).toMatch(/^refused by status: .*503.*, .*(ago|now)$/);

  receiver.answer(200);
  await story.getByRole('link', { name: 'All its dead letters' }).click();
  await rowsOf(page).filter({ hasText: 'refused by status' }).waitFor();
  await page.goBack();
  await story.getByRole('link', { name: 'Retry…' }).click();
  const question = page.getByRole('dialog', { name: 'Retry all' });
  await question.getByText(/^Only abandoned · acme · .*\/acme\/in · refused by status$/).waitFor();
  await question.getByRole('button', { name: /^Retry/ }).click();
  const strip = page.getByRole('region', { name: 'Bulk jobs' });
  await strip.getByText(/^Retry: abandoned · refused by status · acme · .*\/acme\/in$/).waitFor();
  // Nobody has to come back for what became of it.
  await strip.getByRole('link', { name: /delivered$/ }).click();
  await rowsOf(page).first().getByText('delivered', { exact: true }).waitFor();
  await page.goBack();
  await page.getByRole('link', { name: 'Why it fails' }).click();
  await page.clock.fastForward(pollMillis);
  await story.getByRole('link', { name: /^Bulk retry/ }).waitFor();
  await expect.poll(() => marks.first().getAttribute('title')).toContain('200 delivered');
  // The last error stays to be read: none of the newest attempts failed, and no dead letter is left.
  await story.getByText('no error').waitFor();
});

test('replays to an endpoint what was reported before it, after a look at the counts', async () => {
  const { service, receiver } = webhooks;
  const report = { tenant: 'late', type: 'incident.created', data: {} };
  for (let n = 0; n < 3; n++) await service.call('POST', '/incidents', { body: report });
  const body = { tenant: 'late', url: `${receiver.url}/late/in` };
  const made = await service.call('POST', '/webhook/endpoints', { body });
  receiver.answer(200);
  const page = await webhooks.open(`/endpoints?tenant=late&panel=endpoint/${made.json.id}`);
  await drawerOf(page).getByRole('button', { name: 'Replay…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Replay to this endpoint' });
  await dialog.getByText('3 never got').waitFor();
  await dialog.getByLabel('Reported since').fill('yesterday');
  await dialog.getByText('No moment: 24h').waitFor();
  expect(await dialog.getByRole('button', { name: 'Replay' }).isDisabled()).toBe(true);
  await dialog.getByLabel('Reported since').fill('2h');
  await dialog.getByLabel('Event types').fill('other.*');
  await dialog.getByText('no deliveries will be queued').waitFor();
  await dialog.getByLabel('Event types').fill('other.*, incident.');
  await dialog.getByRole('button', { name: 'Replay 3' }).click();
  await page.getByRole('link', { name: 'follow it' }).click();
  const job = drawerOf(page);
  await job.getByRole('link', { name: '3 delivered' }).waitFor();
  await job.getByText('Sends ep_').waitFor();
  expect(receiver.bodiesOf('/late/in')).toHaveLength(3);

  // Its range ends a moment ago, so it waits for reports that may be under way.
  await job.getByText('completed').first().waitFor();
  const incident = (await service.call('GET', '/incidents?tenant=late&limit=1')).json.data[0].id;
  await page.goto(page.url().replace(/#.*/, `#/incidents?panel=inc/${incident}`));
  await drawerOf(page).getByRole('button', { name: 'SEND AGAIN…' }).click();
  await page.getByRole('button', { name: 'Send again', exact: true }).click();
  await page.getByText('Queued once more').waitFor();
  await expect.poll(() => receiver.bodiesOf('/late/in').length, { timeout: 20_000 }).toBe(4);
  const later = { ...body, url: `${receiver.url}/later/in`, where: 'n = 1' };
  const { id: last } = (await service.call('POST', '/webhook/endpoints', { body: later })).json;
  await page.reload();
  await drawerOf(page).getByRole('heading', { name: 'OTHER ENDPOINTS' }).waitFor();
  const send = drawerOf(page).getByRole('button', { name: `SEND it to ${last}` });
  await send.click();
  await expect.poll(() => receiver.bodiesOf('/later/in').length, { timeout: 20_000 }).toBe(1);
  await send.waitFor({ state: 'detached' });

  // A delivery of it waits already, so a replay makes none.
  const path = `/webhook/endpoints/${made.json.id}`;
  await service.call('PATCH', path, { body: { enabled: false } });
  const again = { incident_id: incident, only: 'all' };
  const replay = (await service.call('POST', `${path}/replay`, { body: again })).json;
  await waitFor('the replay to end', async () => {
    const { json } = await service.call('GET', `/webhook/replays/${replay.id}`);
    return json.state === 'completed';
  });
  await page.reload();
  const rows = drawerOf(page).getByRole('listitem').filter({ hasText: '/late/in' });
  await rows.getByRole('button', { name: 'SEND AGAIN…' }).first().click();
  await page.getByRole('button', { name: 'Send again', exact: true }).click();
  await page.getByText('Nothing is queued').waitFor();
  receiver.answer(503);
});

test('adds a type to the catalogue, with what is no JSON at its field, and proposes it to endpoints', async () => {
  const page = await webhooks.open('/endpoints', { expected: [/400 \(Bad Request\)/] });
  await page.getByRole('button', { name: 'EVENT TYPES' }).click();
  await page.getByRole('button', { name: 'New type' }).click();
  const form = drawerOf(page);
  await form.getByRole('textbox', { name: 'Type' }).fill('order.paid');
  await form.getByLabel('JSON Schema').fill('{"type":"object","required":["n"]}');
  await form.getByLabel('Sample').fill('{"n":');
  await form.getByRole('button', { name: 'Add the type' }).click();
  await form.getByText('is not JSON').waitFor();
  await form.getByLabel('Sample').fill('{}');
  await form.getByRole('button', { name: 'Add the type' }).click();
  await form.getByText('does not fit the schema').waitFor();
  await form.getByLabel('Sample').fill('{"n":1}');
  await form.getByRole('button', { name: 'Add the type' }).click();
  await rowsOf(page).filter({ hasText: 'order.paid' }).waitFor();
  await drawerOf(page).getByText('SAMPLE').waitFor();

  await page.getByRole('button', { name: 'ENDPOINTS', exact: true }).click();
  await page.getByRole('button', { name: 'New endpoint' }).click();
  await drawerOf(page).getByLabel('Event types').fill('order.');
  await drawerOf(page).getByRole('button', { name: 'order.paid' }).click();
  expect(await drawerOf(page).getByLabel('Event types').inputValue()).toBe('order.paid');
});
