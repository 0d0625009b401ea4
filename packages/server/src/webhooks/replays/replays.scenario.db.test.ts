import sql from 'sql-template-tag';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test, vi } from 'vitest';
import { answer } from '../../../test/receiver.ts';
import { lookAtNext } from '../dead-letters/settle.ts';
import { useCleanWorld } from '../drainer/testing/world.ts';

const { world, receiver } = useCleanWorld();
const longAgo = '2026-01-01T00:00:00Z';

const ask = (endpoint: string, body: object) =>
  world.call('POST', `/webhook/endpoints/${endpoint}/replay`, { body });
const preview = async (endpoint: string, body: object) => {
  const asked = await ask(endpoint, { dry_run: true, ...body });
  expect(asked.status, asked.text).toBe(200);
  return asked.json;
};
/** What is read after a look at what became of the deliveries of each replay. */
const lookedAt = async <T>(read: () => Promise<T>) => {
  await world.db.query(sql`update replays set look_at = now() where look_at is not null`);
  while (await lookAtNext(world.db));
  return read();
};
/** Asks for a replay, and waits until it has ended and all that it made is delivered. */
const replay = async (endpoint: string, body: object) => {
  const asked = await ask(endpoint, body);
  expect(asked.status, asked.text).toBe(202);
  const read = async () => (await world.call('GET', `/webhook/replays/${asked.json.id}`)).json;
  await expect.poll(read, { timeout: 60_000, interval: 50 }).toMatchObject({ state: 'completed' });
  const settled = async () => (await lookedAt(read)).outcome?.settled_at;
  await expect.poll(settled, { timeout: 60_000, interval: 50 }).toEqual(expect.any(String));
  return read();
};
const reportedAs = (type: string, data: unknown = {}) =>
  world.call('POST', '/incidents', { body: { tenant: 'TX', type, data } });
const since = { since: sinceDaysAgo(20) };
function sinceDaysAgo(days: number): string {
  return new Date(Date.now() - days * 86_400_000).toISOString();
}

describe('what an endpoint never got', () => {
  test('comes once, without the header of a repeat', async () => {
    for (const n of [1, 2, 3]) await reportedAs('incident.created', { n });
    const { id: endpoint } = await world.addEndpoint(receiver.url());
    expect(await preview(endpoint, since)).toMatchObject({
      count: 3,
      missed: 3,
      discarded: 0,
      failed: 0,
      delivered: 0,
      waiting: 0,
      notes: [],
    });
    const job = await replay(endpoint, since);
    expect(job).toMatchObject({ only: 'missed', rows_total: 3, rows_done: 3, rows_skipped: 0 });
    expect(job.outcome.counts).toEqual({ delivered: 3 });
    await reportedAs('incident.created');
    await receiver.waitFor(4);
    const rows = (await world.call('GET', `/webhook/deliveries?job_id=${job.id}`)).json.data;
    expect(rows.map((row: { replay_id: string }) => row.replay_id)).toEqual(Array(3).fill(job.id));
    const came = await receiver.waitFor(4);
    expect(came.map(({ headers }) => headers['webhook-replay'])).toEqual(Array(4).fill(undefined));
    await vi.waitFor(async () =>
      expect(await preview(endpoint, since)).toMatchObject({ count: 0, delivered: 4 }),
    );
    expect((await replay(endpoint, since)).rows_done).toBe(0);
    expect(receiver.requests).toHaveLength(4);
  });

  test.each([2, -2])(
    'is all that was reported by now, where a clock is wrong by %i hours',
    async (hours) => {
      const { id: endpoint } = await world.addEndpoint(receiver.url(), { event_types: ['x.y'] });
      await reportedAs('incident.created');
      const realNow = Date.now;
      const clock = vi.spyOn(Date, 'now').mockImplementation(() => realNow() + hours * 3_600_000);
      const told = await preview(endpoint, { ...since, filters: 'ignore' }).finally(() =>
        clock.mockRestore(),
      );
      expect(told).toMatchObject({ count: 1, missed: 1 });
      expect(Date.parse(told.until)).toBeLessThan(Date.now() + 60_000);
    },
  );

  test('leaves out pings, and types that the endpoint does not want, unless filters are ignored', async () => {
    const { id: first } = await world.addEndpoint(receiver.url());
    await world.call('POST', `/webhook/endpoints/${first}/ping`);
    await reportedAs('incident.created');
    await reportedAs('incident.updated');
    const { id: late } = await world.addEndpoint(receiver.url('/late'), {
      event_types: ['incident.updated'],
    });
    expect(await preview(late, since)).toMatchObject({ count: 1, missed: 1, unwanted: 1 });
    const ignoring = { ...since, filters: 'ignore', event_types: ['incident.created'] };
    expect(await preview(late, ignoring)).toMatchObject({ count: 1, missed: 1, unwanted: 0 });
    expect((await replay(late, ignoring)).rows_done).toBe(1);
    expect((await replay(late, since)).rows_done).toBe(1);
    const came = receiver.requests.filter(({ path }) => path === '/late');
    expect(came.map(({ body }) => JSON.parse(body).type)).toEqual([
      'incident.created',
      'incident.updated',
    ]);
  });

  test('is that of the types, patterns, stores and filter by which a report goes there now', async () => {
    const reports = [
      ...['incident.created', 'incident.v-2', 'incident.v-2.open', 'incidents.open', 'x.y'],
    ].flatMap((type) =>
      [undefined, 'DFW', 'AUS'].flatMap((store) =>
        ['{"n":9007199254740993,"k":"a"}', '{"n":1.0,"type":"own"}', '{}', '[]'].map((data) => ({
          head: { tenant: 'TX', type, store, occurred_at: '2026-03-05T10:00:00.5Z' },
          data,
        })),
      ),
    );
    const reportAll = async () => {
      const ids: string[] = [];
      const gets: Record<string, string[]> = {};
      for (const { head, data } of reports) {
        const answer = await world.call('POST', '/incidents', {
          body: `${JSON.stringify(head).slice(0, -1)},"data":${data}}`,
          headers: { 'content-type': 'application/json' },
        });
        ids.push(answer.json.id);
        for (const { endpoint_id: to } of answer.json.deliveries) {
          gets[to] = [...(gets[to] ?? []), `${ids.length}`];
        }
      }
      return { ids, gets };
    };
    const { ids } = await reportAll();
    const until = new Date().toISOString();
    const subscriptions = [
      { event_types: ['*'] },
      { event_types: ['incident.*'] },
      { event_types: ['incident.v-2.*', 'x.y'] },
      { event_types: ['incident.v-2', 'incidents.*'], stores: ['DFW'] },
      { stores: ['AUS', 'DFW'] },
      { where: 'n > 9007199254740992' },
      { where: 'n = 1 and data.type = "own"' },
      { where: 'not exists(n) and type ilike "incident%"', stores: ['AUS'] },
      { where: 'store = "DFW" or occurred_at > "2026-03-05T10:00:00.6Z"', event_types: ['x.*'] },
      { where: 'occurred_at >= "2026-03-05T10:00:00.5Z" and store != "AUS"' },
    ];
    const endpoints: string[] = [];
    for (const [n, more] of subscriptions.entries()) {
      const url = receiver.url(`/${n}`);
      endpoints.push((await world.addEndpoint(url, { ...more, enabled: false })).id);
    }
    const { gets } = await reportAll();
    for (const [n, endpoint] of endpoints.entries()) {
      const range = { ...since, until };
      const wanted = gets[endpoint] ?? [];
      expect(await preview(endpoint, range), JSON.stringify(subscriptions[n])).toMatchObject({
        count: wanted.length,
        missed: wanted.length,
        filtered_until: null,
        unwanted: reports.length - wanted.length,
      });
      expect((await preview(endpoint, { ...range, filters: 'ignore' })).count).toBe(60);
      const asked = await ask(endpoint, range);
      const read = async () => (await world.call('GET', `/webhook/replays/${asked.json.id}`)).json;
      await expect.poll(read, { timeout: 60_000 }).toMatchObject({ state: 'completed' });
      const made = await world.db.query<{ incident_id: string }>(sql`
        select incident_id from deliveries where replay_id = ${asked.json.id} order by next_attempt_at`);
      expect(made.map((row) => `${ids.indexOf(row.incident_id) + 1}`)).toEqual(wanted);
    }
  });

  test('is narrowed by patterns of a request', async () => {
    for (const type of ['incident.created', 'incident.v.2', 'x.y']) await reportedAs(type);
    const { id: endpoint } = await world.addEndpoint(receiver.url(), {
      event_types: ['incident.v.*', 'x.y'],
    });
    const told = await preview(endpoint, { ...since, event_types: ['incident.*'] });
    expect(told).toMatchObject({ count: 1, missed: 1, unwanted: 1 });
    expect(told.notes).toEqual([
      expect.stringMatching(/^Left alone, .* by its types, stores and filter: 1 incident\. /),
    ]);
    const job = await replay(endpoint, { ...since, event_types: ['incident.*'] });
    expect(job).toMatchObject({ rows_done: 1, event_types: ['incident.*'] });
    expect((await ask(endpoint, { ...since, event_types: ['incident*'] })).status).toBe(400);
  });

  test('is unwanted where the filter refuses it, also when it was delivered', async () => {
    const { id: endpoint } = await world.addEndpoint(receiver.url());
    await world.untilAll(await world.report(2), 'delivered');
    await world.call('PATCH', `/webhook/endpoints/${endpoint}`, { body: { where: 'number = 1' } });
    const asked = { ...since, only: 'all' };
    expect(await preview(endpoint, asked)).toMatchObject({ count: 1, delivered: 1, unwanted: 1 });
    await replay(endpoint, asked);
    const [, , again] = await receiver.waitFor(3);
    expect(JSON.parse(again?.body ?? '').data).toEqual({ number: 1 });
  });

  test('includes what was discarded with a backlog', async () => {
    const { id: endpoint } = await world.addEndpoint(receiver.url(), { enabled: false });
    await world.report(2);
    await world.call('POST', `/webhook/endpoints/${endpoint}/discard-backlog`);
    expect(await preview(endpoint, since)).toMatchObject({ count: 2, missed: 0, discarded: 2 });
    expect((await replay(endpoint, since)).outcome.counts).toEqual({ delivered: 2 });
  });
});

describe('what was delivered', () => {
  test('comes again under a new webhook-id that names the first, also when that was a repeat', async () => {
    const { id: endpoint } = await world.addEndpoint(receiver.url());
    await world.untilAll(await world.report(1), 'delivered');
    const asked = { ...since, only: 'delivered' };
    expect((await preview(endpoint, asked)).notes).toEqual([
      expect.stringMatching(
        /^Sent again, each under a new webhook-id .*: 1 delivery\. .* for new\.$/,
      ),
    ]);
    await replay(endpoint, asked);
    await replay(endpoint, asked);
    const came = await receiver.waitFor(3);
    const [first] = came;
    expect(new Set(came.map(({ id }) => id)).size).toBe(3);
    expect(came.map(({ headers }) => headers['webhook-replay'])).toEqual([
      undefined,
      first?.id,
      first?.id,
    ]);
    expect(new Set(came.map(({ body }) => body)).size).toBe(1);
  });

  test('comes under its old webhook-id where that is asked for', async () => {
    const { id: endpoint } = await world.addEndpoint(receiver.url());
    await world.untilAll(await world.report(1), 'delivered');
    const asked = { ...since, only: 'all', ids: 'same' };
    expect((await preview(endpoint, asked)).notes).toEqual([
      expect.stringMatching(/^Sent again under the webhook-id that it had: .* drops them\.$/),
    ]);
    await replay(endpoint, asked);
    const [first, second] = await receiver.waitFor(2);
    expect(second?.id).toBe(first?.id);
    expect(second?.headers['webhook-replay']).toBe(first?.id);
  });

  test('is no part of the answer to a report under the same idempotency key', async () => {
    const body = { tenant: 'TX', type: 'incident.created', data: {}, idempotency_key: 'once' };
    const { id: endpoint } = await world.addEndpoint(receiver.url());
    const accepted = await world.call('POST', '/incidents', { body });
    await world.untilAll([accepted.json.deliveries[0].id], 'delivered');
    await replay(endpoint, { incident_id: accepted.json.id, only: 'all' });
    const { id: late } = await world.addEndpoint(receiver.url('/late'));
    await replay(late, since);
    expect((await world.call('POST', '/incidents', { body })).text).toBe(accepted.text);
    const shown = await world.call('GET', `/incidents/${accepted.json.id}`);
    expect(shown.json.deliveries).toHaveLength(3);
  });
});

test('dead letters are re-armed under their webhook-id, and leave the queue', async () => {
  const { id: endpoint } = await world.addEndpoint(receiver.url(), { max_attempts: 1 });
  receiver.behave(() => answer(500));
  const ids = await world.report(2);
  await world.untilAll(ids, 'abandoned');
  receiver.behave(() => answer(204));
  expect(await preview(endpoint, since)).toMatchObject({ count: 0, failed: 2 });
  const job = await replay(endpoint, { ...since, only: 'failed' });
  expect(job).toMatchObject({ rows_done: 2, outcome: { counts: { delivered: 2 } } });
  await world.untilAll(ids, 'delivered');
  expect(receiver.duplicates).toBe(2);
  await world.expectCountsToFit();
});

test('a replay beside retries of the same dead letters and a rotation sends each once', async () => {
  const { id: endpoint, secret } = await world.addEndpoint(receiver.url(), { max_attempts: 1 });
  receiver.behave(() => answer(500));
  const ids = await world.report(6);
  await world.untilAll(ids, 'abandoned');
  receiver.behave(() => answer(204));
  const [rotated] = await Promise.all([
    world.call('POST', `/webhook/endpoints/${endpoint}/rotate-secret`),
    replay(endpoint, { ...since, only: 'failed' }),
    ...ids.map((id) => world.call('POST', `/webhook/dlq/${id}/retry`)),
  ]);
  expect(rotated.status).toBe(200);
  await world.untilAll(ids, 'delivered');
  const again = receiver.requests.slice(6);
  expect(new Set(again.map(({ id }) => id)).size).toBe(6);
  expect(again).toHaveLength(6);
  for (const { body, headers } of again) {
    new Webhook(secret).verify(body, headers);
  }
});

test('an incident of which only the replay failed is among the failed ones, once, by its own time', async () => {
  const reported = await reportedAs('incident.created');
  const { id: endpoint } = await world.addEndpoint(receiver.url(), { max_attempts: 1 });
  receiver.behave(() => answer(500));
  await replay(endpoint, since);
  await replay(endpoint, { ...since, only: 'failed' });
  const listed = async (query: string) =>
    (await world.call('GET', `/incidents?deliveries=failed${query}`)).json.data;
  const { created_at: at } = (await world.call('GET', `/incidents/${reported.json.id}`)).json;
  expect(await listed('')).toMatchObject([{ id: reported.json.id, created_at: at }]);
  expect(await listed('&tenant=TX')).toHaveLength(1);
  expect(await listed('&tenant=U')).toEqual([]);
});

describe('refuses', () => {
  test('a range that overlaps with one under way, and takes it when that was cancelled', async () => {
    await world.report(0);
    for (const n of [1, 2, 3]) await reportedAs('incident.created', { n });
    const { id: endpoint } = await world.addEndpoint(receiver.url());
    const held = await ask(endpoint, { ...since, rate: 1 });
    await world.call('PATCH', `/webhook/replays/${held.json.id}`, { body: { state: 'paused' } });
    const refused = await ask(endpoint, since);
    expect(refused.json).toMatchObject({ status: 409, code: 'replay_overlaps' });
    expect(refused.json.detail).toContain(held.json.id);
    const before = { since: sinceDaysAgo(30), until: since.since };
    expect((await ask(endpoint, before)).status).toBe(202);
    const cancelled = await world.call('POST', `/jobs/${held.json.id}/cancel`);
    expect(cancelled.json).toMatchObject({ kind: 'replay', state: 'cancelled', tenant: 'TX' });
    expect((await ask(endpoint, since)).status).toBe(202);
    const finished = await world.call('PATCH', `/webhook/replays/${held.json.id}`, {
      body: { rate: 5 },
    });
    expect(finished.json.code).toBe('replay_finished');
  });

  test.each([
    [{}, '/since'],
    [{ since: 'yesterday' }, '/since'],
    [{ since: '2200-01-01T00:00:00Z' }, '/since'],
    [{ since: longAgo, until: longAgo }, '/until'],
    [{ since: longAgo, incident_id: 'inc_0123456789abcdef' }, '/since'],
  ])('%j', async (body, pointer) => {
    const { id: endpoint } = await world.addEndpoint(receiver.url());
    const refused = await ask(endpoint, body);
    expect(refused.json).toMatchObject({ status: 400, code: 'request_invalid' });
    expect(refused.text).toContain(pointer);
  });

  test('an incident of another tenant', async () => {
    const { id: endpoint } = await world.addEndpoint(receiver.url());
    const body = { tenant: 'U', type: 'incident.created', data: {} };
    const foreign = await world.call('POST', '/incidents', { body });
    const refused = await ask(endpoint, { incident_id: foreign.json.id });
    expect(refused.json.code).toBe('incident_not_found');
  });
});

test('a range that begins before what was forgotten is told, and only the rest is sent', async () => {
  await world.report(0);
  await reportedAs('incident.created');
  await reportedAs('incident.updated');
  await world.db.query(sql`
    update incidents set created_at = now() - interval '40 days' where type = 'incident.updated'`);
  const { id: endpoint } = await world.addEndpoint(receiver.url());
  const told = await preview(endpoint, { since: sinceDaysAgo(60) });
  expect(told).toMatchObject({ count: 1, missed: 1, forgotten_before: expect.any(String) });
  expect(told.notes[0]).toMatch(/^What was reported before .* is left alone/);
  expect(told.forgotten_before > sinceDaysAgo(31)).toBe(true);
  expect((await replay(endpoint, { since: sinceDaysAgo(60) })).rows_done).toBe(1);
  expect((await preview(endpoint, since)).forgotten_before).toBeNull();
});

test('what is for a disabled endpoint waits until it is enabled, and its deletion ends a replay', async () => {
  for (const n of [1, 2]) await reportedAs('incident.created', { n });
  const { id: endpoint } = await world.addEndpoint(receiver.url(), { enabled: false });
  expect((await preview(endpoint, since)).notes).toEqual([
    expect.stringMatching(/^The endpoint is disabled/),
  ]);
  const asked = await ask(endpoint, since);
  const read = async () => (await world.call('GET', `/webhook/replays/${asked.json.id}`)).json;
  await expect
    .poll(() => lookedAt(read))
    .toMatchObject({ rows_done: 2, outcome: { counts: { waits_for_endpoint: 2 } } });
  await world.call('PATCH', `/webhook/endpoints/${endpoint}`, { body: { enabled: true } });
  await receiver.waitFor(2);
  await expect
    .poll(() => lookedAt(read))
    .toMatchObject({ state: 'completed', outcome: { counts: { delivered: 2 } } });

  const held = await ask(endpoint, { ...since, only: 'delivered', rate: 1 });
  await world.call('PATCH', `/webhook/replays/${held.json.id}`, { body: { state: 'paused' } });
  await world.call('DELETE', `/webhook/endpoints/${endpoint}`);
  const ended = (await world.call('GET', `/webhook/replays/${held.json.id}`)).json;
  expect(ended).toMatchObject({ state: 'cancelled', error: 'Its endpoint was deleted' });
  expect((await ask(endpoint, since)).json.code).toBe('endpoint_not_found');
});

test('a retry of what was delivered names the command that sends it again', async () => {
  const { id: endpoint } = await world.addEndpoint(receiver.url());
  const [id = ''] = await world.report(1);
  await world.untilAll([id], 'delivered');
  const refused = await world.call('POST', `/webhook/dlq/${id}/retry`);
  expect(refused.json.code).toBe('delivery_finished');
  const [, incident] = /svcctl endpoints replay ep_\w+ --incident (\w+) --only all/.exec(
    refused.json.detail,
  ) ?? [''];
  await replay(endpoint, { incident_id: incident, only: 'all' });
  expect(receiver.requests).toHaveLength(2);
});

test('what a replay makes says that it was not tried yet', async () => {
  await reportedAs('incident.created');
  const { id: endpoint } = await world.addEndpoint(receiver.url(), { enabled: false });
  const { id } = (await ask(endpoint, since)).json;
  const listed = async () =>
    (await world.call('GET', `/webhook/deliveries?endpoint_id=${endpoint}`)).json.data;
  await expect.poll(listed).toHaveLength(1);
  expect(await listed()).toMatchObject([
    { attempts: 0, last_attempt_at: null, replay_id: id, replay_of: null, status: 'queued' },
  ]);
});
