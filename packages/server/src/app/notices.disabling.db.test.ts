import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { seedDeliveries } from '../webhooks/dead-letters/testing/seed.ts';
import { laneOf } from '../webhooks/lanes.ts';
import { failFor, recover } from './testing/looking.ts';
import { useNoticesWorld } from './testing/notices-world.ts';

const { service, receiver, process, add } = useNoticesWorld();

/** An endpoint that the service may disable, with a delivery that waits, and with or without an attempt lately. */
async function failForDays(days: number, setting: { after: number; isTried: boolean }) {
  const id = await failFor(service.db, days * 86_400);
  if (setting.isTried) {
    await service.db.query(sql`
      insert into endpoint_hours (lane, endpoint_id, hour, delivered, failed, abandoned)
      values (${laneOf(id)}, ${id}, date_trunc('hour', now()), 0, 1, 0)`);
  }
  await seedDeliveries(service.db, { id, tenant: 'TX' }, 2, { status: 'pending' });
  const body = { disable_after_days: setting.after };
  const changed = await service.call('PATCH', `/webhook/endpoints/${id}`, { body });
  expect(changed.json).toMatchObject({ ...body, failing_since: expect.any(String) });
  return id;
}
const endpoint = async (id: string) => (await service.call('GET', `/webhook/endpoints/${id}`)).json;
const onlyDisabling = { kinds: ['endpoints_disabling', 'endpoints_disabled'] };

test('an endpoint that failed for its days is disabled a day after that was told, and keeps its backlog', async () => {
  const target = await add(onlyDisabling);
  // It should have been disabled a week ago, but nobody was told.
  const id = await failForDays(10, { after: 3, isTried: true });
  await process.look();
  await process.pass(3600);
  await process.look();
  await receiver.waitUntil(() => target.messages().length > 0);
  expect(target.told()).toEqual([[`begun endpoints_disabling ${id}`]]);
  await process.pass(86_400 - 3600 - 60);
  await process.look();
  expect(await endpoint(id)).toMatchObject({ enabled: true });
  await process.pass(60);
  await process.look();
  expect(await endpoint(id)).toMatchObject({
    enabled: false,
    disabled_reason: 'failing',
    disabled_by: null,
    backlog: { count: 2 },
  });
  await process.look();
  await receiver.waitUntil(() => target.told().length > 1);
  expect(target.told().slice(1)).toEqual([[`begun endpoints_disabled ${id}`]]);
  const { json: log } = await service.call('GET', '/audit?action=endpoint.disable');
  expect(log.data).toMatchObject([
    { actor: { name: 'svcctl', token_id: null }, target: id, tenant: 'TX' },
  ]);
  const { json: overview } = await service.call('GET', '/stats/overview');
  expect(overview.troubles).toMatchObject([{ kind: 'endpoints_disabled', count: 1, id }]);

  // Whoever enables it begins anew.
  await service.call('PATCH', `/webhook/endpoints/${id}`, { body: { enabled: true } });
  await process.look();
  expect(await endpoint(id)).toMatchObject({ enabled: true, failing_since: null });
});

test('an endpoint is told only a day before it has failed for its days', async () => {
  const target = await add(onlyDisabling);
  const id = await failForDays(1.99, { after: 3, isTried: true });
  await process.look();
  await process.pass(3600);
  await process.look();
  expect(target.told()).toEqual([]);
  await process.pass(3600);
  await process.look();
  await receiver.waitUntil(() => target.messages().length > 0);
  expect(target.told()).toEqual([[`begun endpoints_disabling ${id}`]]);
});

test('an endpoint without an attempt for a day is not disabled, however long it has failed', async () => {
  const target = await add(onlyDisabling);
  const id = await failForDays(10, { after: 1, isTried: false });
  for (let day = 0; day < 3; day += 1) {
    await process.look();
    await process.pass(86_400);
  }
  await process.look();
  expect(await endpoint(id)).toMatchObject({ enabled: true });
  expect(target.told()).toEqual([]);
});

test('an endpoint with a success after that was told is not disabled', async () => {
  const id = await failForDays(10, { after: 3, isTried: true });
  await process.look();
  await process.pass(3600);
  await process.look();
  await recover(service.db, id);
  await process.pass(86_400);
  await process.look();
  expect(await endpoint(id)).toMatchObject({ enabled: true });
});

test('dead letters are purged for their age a day after that was told, and once a day', async () => {
  const target = await add({ kinds: ['dead_letters_expiring'] });
  const endpoint = { id: await failFor(service.db, 60), tenant: 'TX' };
  await seedDeliveries(service.db, endpoint, 2, { secondsAgo: 31 * 86_400 });
  const jobs = () =>
    service.db.query(sql`select action, status, created_by, rows_total from dead_letter_jobs`);
  await process.look();
  await receiver.waitUntil(() => target.messages().length > 0);
  expect(target.told()).toEqual([['begun dead_letters_expiring']]);
  await process.pass(86_400 - 60);
  await process.look();
  expect(await jobs()).toEqual([]);
  await process.pass(60);
  await process.look();
  await process.look();
  expect(await jobs()).toEqual([
    { action: 'purge', status: 'abandoned', created_by: 'svcctl', rows_total: 2 },
  ]);
});
