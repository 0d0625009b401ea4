import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { useReceiver } from '../../packages/server/test/receiver.ts';
import { expectCountersTrue } from '../lib/counters.ts';
import { ingestBatch } from '../lib/ingest.ts';
import { ownCommand, type Service } from '../lib/installation.ts';
import { patient, recordRows, signIn, treeNode, useConsole, waitForRecord } from './lib/browser.ts';
import { startEmpty } from './lib/filled-service.ts';

const settings = { SVC_ALLOW_TARGETS: '127.0.0.0/8' };
const receiver = useReceiver('each');
// The tests follow one installation, which is empty at first.
const live = useConsole(() => startEmpty(settings, 'cluster'));

/** Runs a line that the console shows, as somebody who copies it into a shell. */
async function runLine(line: string): Promise<void> {
  const { dataDir } = live.installation;
  const script = `svcctl() { ${ownCommand().join(' ')} "$@"; }; cd ${dataDir}; ${line}`;
  const env = { ...process.env, SVC_DATA_DIR: dataDir };
  await promisify(execFile)('bash', ['-c', script], { env });
}

test('tells an empty installation its first steps, which tick themselves when they are done as told', async () => {
  const page = await live.openBlank();
  await page.clock.install();
  await page.goto('/#/records');
  await signIn(page, live.service.token);
  await page.getByRole('heading', { name: 'No records yet' }).waitFor();
  await page.getByText('svcctl records ingest records.ndjson').waitFor();
  await page.getByText('svcctl records lint records.ndjson').waitFor();

  await page.goto('/#/');
  const state = page.getByRole('region', { name: 'State' });
  await state.getByText('Nothing is stored, and nothing was sent in 48 hours').waitFor();
  // Nothing was looked at that could be well.
  expect(await state.locator('svg').count()).toBe(0);
  const steps = page.getByRole('region', { name: 'First steps' });
  const expectDone = (count: number) =>
    expect.poll(() => steps.getByText('done', { exact: true }).count(), patient).toBe(count);
  const lines = steps.locator('li code');
  await expect.poll(() => steps.getByText('not yet').count(), patient).toBe(3);
  await runLine(await lines.nth(0).innerText());
  await page.clock.fastForward(16_000);
  await expectDone(1);
  await runLine(await lines.nth(0).innerText());
  await page.clock.fastForward(16_000);
  await expectDone(2);
  await page.getByRole('region', { name: 'Figures' }).waitFor();
  const [, ...listen] = (await lines.nth(0).innerText()).split(' ');
  const listening = live.installation.spawnCommand(listen);
  const isThere = async () =>
    (await live.service.call('GET', '/webhook/endpoints')).json.data.length === 1;
  await expect.poll(isThere, patient).toBe(true);
  await page.clock.fastForward(16_000);
  await steps.waitFor({ state: 'detached' });
  await listening.stop();

  await page.goto('/#/records');
  await treeNode(page, 'acme').click();
  await recordRows(page).first().click();
  await waitForRecord(page);
});

const record = (store: string, n: number) => ({
  tenant: 'TX',
  store,
  event_id: `e${n}`,
  enrichment: { n },
  occurred_at: new Date(Date.UTC(2001, 2, 1, 0, n)).toISOString(),
});
const numbers = (count: number, from: number) => Array.from({ length: count }, (_, n) => from + n);

test('newest first, LAST, and a jump to a time lead through a store both ways', async () => {
  await ingestBatch(
    live.service,
    numbers(250, 0).map((n) => record('DFW', n)),
  );
  const page = await live.open('/records?tenant=TX&store=DFW');
  const first = () => recordRows(page).first().innerText();
  await page.getByText('1–100 of 250').waitFor();
  await page.getByRole('button', { name: 'LAST', exact: true }).click();
  await expect.poll(first).toContain('e150');
  await page.getByRole('button', { name: '‹ PREV' }).click();
  await expect.poll(first).toContain('e50');
  await page.getByRole('button', { name: 'NEXT ›' }).click();
  await expect.poll(first).toContain('e150');
  await page.getByRole('button', { name: 'FIRST', exact: true }).click();
  await page.getByText('1–100 of 250').waitFor();

  await page.getByLabel('Order').selectOption('newest first');
  await expect.poll(first).toContain('e249');
  await page.setViewportSize({ width: 1024, height: 768 });
  expect(await page.getByLabel('Records a page').isVisible()).toBe(true);
  const jump = page.getByLabel(/^Jump to a time/);
  await jump.fill('2001-03-01 01:40');
  await jump.press('Enter');
  await expect.poll(first).toContain('e100');
  await page.getByRole('button', { name: '‹ PREV' }).click();
  await expect.poll(first).toContain('e200');
  await jump.fill('tomorrow');
  await jump.press('Enter');
  await page.locator('input[aria-invalid="true"]').waitFor();
});

test('a tenant is read by time over all its stores, from both ends and from a time, which an event is not', async () => {
  await ingestBatch(
    live.service,
    numbers(150, 0).flatMap((n) =>
      ['A', 'B'].map((store) => ({ ...record(store, n), tenant: 'NM' })),
    ),
  );
  const page = await live.open('/records?tenant=NM');
  const rows = async (count: number) =>
    (await recordRows(page).allInnerTexts()).slice(0, count).map((text) =>
      text
        .match(/\s(A|B)\s+(e\d+)/)
        ?.slice(1)
        .join(' '),
    );
  await page.getByText('1–100 of 300').waitFor();
  await expect.poll(() => rows(2)).toEqual(['A e0', 'A e1']);
  await page.getByLabel('Order').selectOption('newest first');
  await expect.poll(() => rows(3)).toEqual(['B e149', 'A e149', 'B e148']);
  await page.getByRole('button', { name: 'LAST', exact: true }).click();
  await expect.poll(() => rows(2)).toEqual(['B e49', 'A e49']);
  const jump = page.getByLabel(/^Jump to a time/);
  await jump.fill('2001-03-01 01:00');
  await jump.press('Enter');
  await expect.poll(() => rows(2)).toEqual(['B e60', 'A e60']);
  await page.getByLabel('Order').selectOption('store by store');
  await expect.poll(() => rows(2)).toEqual(['A e0', 'A e1']);
  await jump.fill('2001-03-01 01:00');
  await jump.press('Enter');
  await expect.poll(() => rows(2)).toEqual(['A e60', 'B e60']);
  expect(page.url()).toContain('order=oldest');
  await page.goto(page.url().replace('order=oldest', 'order=newest&event=e7'));
  await expect.poll(() => rows(3)).toEqual(['A e7', 'B e7']);
  await page.getByLabel('Order').waitFor({ state: 'detached' });
});

test('LIVE shows what is stored on top, and moves nothing while somebody reads', async () => {
  const page = await live.open('/records?tenant=TX&store=AUS');
  await page.getByText('No records here').waitFor();
  await page.getByRole('button', { name: 'LIVE', exact: true }).click();
  await page.getByText('Waiting for records').waitFor();
  expect(page.url()).toContain('live=true');
  await ingestBatch(
    live.service,
    numbers(60, 0).map((n) => record('AUS', n)),
  );
  await ingestBatch(live.service, [record('IAH', 0)]);
  await page.getByText('LIVE · 60 records came').waitFor();
  await page.getByText('Nothing is stored here').waitFor({ state: 'detached' });
  await expect.poll(() => recordRows(page).count()).toBe(60);
  const first = () => recordRows(page).first().innerText();
  expect(await first()).toContain('e59');

  const rows = page.locator('section[aria-label="Records"]');
  await rows.evaluate((at) => {
    at.scrollTop = 300;
  });
  await ingestBatch(
    live.service,
    numbers(12, 60).map((n) => record('AUS', n)),
  );
  await page.getByRole('button', { name: '12 NEW ↑' }).click();
  await expect.poll(first).toContain('e71');
  await recordRows(page).first().hover();
  await ingestBatch(live.service, [record('AUS', 72)]);
  await page.getByRole('button', { name: '1 NEW ↑' }).waitFor();
  expect(await first()).toContain('e71');
  await page.mouse.move(0, 0);
  await expect.poll(first).toContain('e72');

  await page.getByRole('button', { name: 'LIVE', exact: true }).click();
  await page.getByText(/^1–73/).waitFor();
  await expect.poll(() => recordRows(page).count()).toBe(73);
});

/** The records of TX, which are fewer than a page takes. */
async function stored(service: Service): Promise<{ store: string }[]> {
  return (await service.call('GET', '/enrichment/records?tenant=TX&limit=500')).json.data;
}

/** The service once it was started again, without a drainer. */
let again: Service;

test('LIVE of a tenant shows what fits, goes on where it was when the service was away, and ends in words when too much comes', async () => {
  const page = await live.open('/records?tenant=TX&live=true&where=n%20%3E%200', {
    expected: [/ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|503/],
  });
  await page.getByText('Waiting for records').waitFor();
  await ingestBatch(live.service, [record('ELP', 0), record('ELP', 1)]);
  await page.getByText('LIVE · 1 record came').waitFor();
  // A service that is starting, or a proxy before it.
  await page.route('**/records/tail?*', (route) => route.fulfill({ status: 503 }), { times: 1 });
  const before = await stored(live.service);
  expect(before.length).toBeGreaterThan(300);
  await live.service.stop();
  const port = new URL(live.service.url).port;
  again = await live.installation.start({ ...settings, SVC_PORT: port, SVC_ROLES: 'api' });
  await ingestBatch(again, [record('HOU', 2)]);
  await page.getByText('LIVE · 2 records came').waitFor();
  const kept = (await stored(again)).filter(({ store }) => store !== 'HOU');
  expect(kept).toEqual(before);
  await expectCountersTrue(await live.installation.postgresUrl(), again);
  await ingestBatch(
    again,
    numbers(3000, 10).map((n) => record('ELP', n)),
  );
  await page.getByText('LIVE is off: records come faster').waitFor();
  await expect.poll(() => page.url()).not.toContain('live');
});

test('a webhook waits where no process has a drainer, and the program sends it by drain', async () => {
  const endpoint = { tenant: 'drained', url: receiver.url() };
  expect((await again.call('POST', '/webhook/endpoints', { body: endpoint })).status).toBe(201);
  const body = { tenant: 'drained', type: 'incident.created', data: {} };
  const { json } = await again.call('POST', '/incidents', { body });
  const show = async () => (await again.call('GET', `/webhook/dlq/${json.deliveries[0].id}`)).json;
  expect(await show()).toMatchObject({ status: 'queued' });
  const drained = await live.installation.run(['drain'], settings);
  expect(drained.code, drained.output).toBe(0);
  expect(await show()).toMatchObject({ status: 'delivered' });
  expect(receiver.requests).toHaveLength(1);
});
