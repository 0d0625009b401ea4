import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { answer, useReceiver } from '../../../test/receiver.ts';
import { makeBulkJob, seedDeliveries, seedEndpoint } from '../dead-letters/testing/seed.ts';
import { isStatus, useWorld } from '../drainer/testing/world.ts';
import { laneOf } from '../lanes.ts';

const receiver = useReceiver();
const world = useWorld();

async function storyOf(id: string, token?: string) {
  const path = `/webhook/endpoints/${id}?include=story`;
  const answered = await world.call('GET', path, token === undefined ? {} : { token });
  expect(answered.status, answered.text).toBe(200);
  return answered.json.story;
}

test('tells the last error in words, the newest attempts and how it answered', async () => {
  receiver.behave(({ path, number }) =>
    path === '/moody' && number <= 2 ? answer(503, { body: 'down for repairs' }) : answer(204),
  );
  const { id } = await world.addEndpoint(receiver.url('/moody'), { max_attempts: 2 });
  const reportFailing = async () => {
    const [delivery = ''] = await world.report();
    await world.untilDelivery(delivery, isStatus('pending'));
    await world.makeDue(delivery);
    await world.untilAll([delivery], 'abandoned');
    return delivery;
  };
  const first = await reportFailing();
  const later = await world.report(14);
  await world.untilAll(later, 'delivered');

  const story = await storyOf(id);
  expect(story.attempts).toHaveLength(12);
  expect(story.attempts.every((each: { status: number }) => each.status === 204)).toBe(true);
  const times = story.attempts.map((each: { started_at: string }) => each.started_at);
  expect(times).toEqual(times.toSorted().toReversed());
  // None of these failed, so the dead letter tells.
  expect(story.last_error).toMatchObject({
    delivery_id: first,
    failure_class: 'status',
    status: 503,
  });
  expect(story.dead_letters).toEqual([{ status: 'abandoned', failure_class: 'status', count: 1 }]);
  expect(story.oldest_waiting).toBeNull();
  expect(story.periods.map((period: { hours: number }) => period.hours)).toEqual([24, 168, 720]);
  for (const period of story.periods) {
    expect(period).toMatchObject({ attempts: 16, delivered: 14, answered: 16 });
    expect(period.success_share).toBeCloseTo(14 / 16);
    expect(period.p50_ms).toBeGreaterThanOrEqual(5);
    expect(period.p99_ms).toBeGreaterThanOrEqual(period.p50_ms);
  }

  receiver.behave(() => answer(500, { body: 'broken' }));
  const failed = await reportFailing();
  const after = await storyOf(id);
  expect(after.last_error).toMatchObject({ delivery_id: failed, status: 500, answer: 'broken' });
  expect(after.attempts.slice(0, 3)).toMatchObject([
    { delivery_id: failed, number: 2, failure_class: 'status' },
    { delivery_id: failed, number: 1, failure_class: 'status' },
    { failure_class: null },
  ]);
  const { data } = (await world.call('GET', '/webhook/endpoints?include=hours')).json;
  const listed = data.find((row: { id: string }) => row.id === id);
  expect(listed).toMatchObject({ health: 'degraded', hours: {} });
  expect(listed.last_error).toEqual({
    at: after.attempts[0].started_at,
    delivery_id: failed,
    failure_class: 'status',
    status: 500,
    error: after.last_error.error,
  });
  const { webhooks } = (await world.call('GET', '/stats/overview')).json;
  expect(webhooks.endpoints[0].last_error).toEqual(listed.last_error);
});

test('counts no time where no answer came', async () => {
  const silent = await world.addEndpoint('http://127.0.0.1:9/nobody', {
    tenant: 'N',
    max_attempts: 1,
  });
  await world.untilAll(await world.report(1, 'N'), 'abandoned');
  const [day] = (await storyOf(silent.id)).periods;
  expect(day).toMatchObject({
    attempts: 1,
    delivered: 0,
    success_share: 0,
    answered: 0,
    p50_ms: null,
  });
});

test('tells an old delivery that was tried a moment ago', async () => {
  receiver.behave(() => answer(500));
  const { id } = await world.addEndpoint(receiver.url('/old'), { tenant: 'O', max_attempts: 1 });
  const [old = ''] = await world.report(1, 'O');
  await world.untilAll([old], 'abandoned');
  receiver.behave(() => answer(204));
  await world.untilAll(await world.report(12, 'O'), 'delivered');
  await world.db.query(sql`
    update deliveries set created_at = now() - interval '20 days' where id = ${old}`);
  await world.call('POST', `/webhook/dlq/${old}/retry`);
  await world.untilAll([old], 'delivered');
  expect((await storyOf(id)).attempts[0]).toMatchObject({ delivery_id: old, number: 2 });
});

test('tells since when the oldest delivery waits, and which jobs were asked for', async () => {
  const endpoint = await seedEndpoint(world.db, { tenant: 'W', enabled: false });
  await seedDeliveries(world.db, endpoint, 2, { status: 'queued' });
  const [oldest] = await seedDeliveries(world.db, endpoint, 1, {
    status: 'pending',
    secondsAgo: 9000,
  });
  await makeBulkJob(world.db, 'rty_its', { endpoint_id: endpoint.id });
  await makeBulkJob(world.db, 'rty_all');
  const [made] = await world.db.query<{ at: string }>(sql`
    select to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at
    from deliveries where id = ${oldest}`);
  const story = await storyOf(endpoint.id);
  expect(story.oldest_waiting).toEqual({ since: made?.at, is_exact: true });
  expect(story.jobs.map(({ id }: { id: string }) => id)).toEqual(['rty_its']);
  expect(story.attempts).toEqual([]);
  // A job whose maker reached more tenants is not told to those who reach fewer.
  const limited = await world.makeToken({ name: 'w', scopes: ['admin'], tenants: ['W'] });
  expect((await storyOf(endpoint.id, limited.token)).jobs).toEqual([]);
});

test('tells how far replays to it are', async () => {
  await world.report(3, 'R');
  const { id } = await world.addEndpoint(receiver.url(), { tenant: 'R', enabled: false });
  for (let n = 0; n < 3; n++) {
    const body = { tenant: 'R', type: 'x.y', data: { n } };
    await world.call('POST', '/incidents', { body });
  }
  expect((await storyOf(id)).replays).toEqual([]);
  const body = { since: new Date(Date.now() - 3_600_000).toISOString() };
  const asked = await world.call('POST', `/webhook/endpoints/${id}/replay`, { body });
  const told = async () => (await storyOf(id)).replays;
  await expect
    .poll(told, { timeout: 20_000 })
    .toMatchObject([
      { id: asked.json.id, state: 'completed', rows_total: 3, rows_done: 3, only: 'missed' },
    ]);
});

test('reads hours of the previous release, which counts attempts and no times', async () => {
  const endpoint = await seedEndpoint(world.db, { tenant: 'P' });
  const lane = laneOf(endpoint.id);
  await world.db.query(sql`
    insert into endpoint_hours (lane, endpoint_id, hour, delivered, failed, abandoned)
    values (${lane}, ${endpoint.id}, date_trunc('hour', now()) - interval '2 hours', 3, 1, 0),
      (${lane}, ${endpoint.id}, date_trunc('hour', now()) - interval '20 days', 4, 0, 0)`);
  const { periods } = await storyOf(endpoint.id);
  expect(periods.map((period: { attempts: number }) => period.attempts)).toEqual([4, 4, 8]);
  expect(periods[0]).toMatchObject({ delivered: 3, answered: 0, p99_ms: null });
});

test('tells the story to whoever may see the endpoint, and only when asked', async () => {
  const endpoint = await seedEndpoint(world.db, { tenant: 'S' });
  const plain = await world.call('GET', `/webhook/endpoints/${endpoint.id}`);
  expect(plain.json).not.toHaveProperty('story');
  const { token } = await world.makeToken({ name: 'other', scopes: ['admin'], tenants: ['X'] });
  const path = `/webhook/endpoints/${endpoint.id}?include=story`;
  expect((await world.call('GET', path, { token })).status).toBe(404);
  expect((await world.call('GET', `${path}s`)).status).toBe(400);
});
