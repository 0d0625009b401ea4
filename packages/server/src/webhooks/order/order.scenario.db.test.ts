import sql from 'sql-template-tag';
import { describe, expect, test } from 'vitest';
import { answer, type ReceivedRequest } from '../../../test/receiver.ts';
import { isStatus, useCleanWorld } from '../drainer/testing/world.ts';
import { listFailing } from '../endpoints/trouble-queries.ts';

const { world, receiver } = useCleanWorld();

const report = async (more: Record<string, unknown>): Promise<string> => {
  const body = { tenant: 'TX', type: 'incident.created', data: {}, ...more };
  const answered = await world.call('POST', '/incidents', { body });
  expect(answered.status, answered.text).toBe(202);
  return answered.json.deliveries[0].id;
};
/** Reports, one after the other, so many of a group. */
const reportOf = async (group: string, count: number): Promise<string[]> => {
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1) ids.push(await report({ group, data: { group, n } }));
  return ids;
};
const dataOf = ({ body }: ReceivedRequest) => JSON.parse(body).data;
const numbersOf = (group: string) =>
  receiver.requests.map(dataOf).flatMap((data) => (data.group === group ? [data.n] : []));
const ordered = (more: Record<string, unknown> = {}) =>
  world.addEndpoint(receiver.url('/ordered'), { ordered: 'group', ...more });
const failing = (group: string, n: number) =>
  receiver.behave((request) => {
    const data = dataOf(request);
    return answer(data.group === group && data.n === n ? 500 : 204);
  });
const show = async (id: string) => (await world.call('GET', `/webhook/dlq/${id}`)).json;
const blocked = async (endpoint: string) =>
  (await world.call('GET', `/webhook/endpoints/${endpoint}/blocked`)).json.data;
const skip = (endpoint: string, key: string) =>
  world.call('POST', `/webhook/endpoints/${endpoint}/skip`, { body: { key } });

describe('an ordered endpoint', () => {
  test('gets what belongs together one after the other, and other groups meanwhile', async () => {
    await ordered();
    failing('a', 0);
    const a = await reportOf('a', 3);
    const b = await reportOf('b', 3);
    await world.untilAll(b, 'delivered');
    expect(numbersOf('b')).toEqual([0, 1, 2]);
    const second = await show(a[1] ?? '');
    expect(second).toMatchObject({ status: 'queued', next_retry: null, waits_for: a[0] });
    expect(second.waiting).toMatchObject({ reason: 'order', until: null });
    receiver.behave(() => answer(204));
    await world.untilDelivery(a[0] ?? '', isStatus('pending'));
    await world.makeDue(a[0] ?? '');
    await world.untilAll(a, 'delivered');
    const sent = numbersOf('a');
    expect(sent.filter((n) => n > 0)).toEqual([1, 2]);
    expect(sent.lastIndexOf(0)).toBeLessThan(sent.indexOf(1));
    expect(await world.db.query(sql`select from order_keys`)).toEqual([]);
  });

  test('tells each the number of its place, which grows', async () => {
    await ordered();
    const ids = await reportOf('a', 4);
    await world.untilAll(ids, 'delivered');
    const sent = receiver.requests.map(({ headers }) => Number(headers['webhook-sequence']));
    expect(sent).toEqual([...new Set(sent)].sort((a, b) => a - b));
    const shown = await Promise.all(ids.map(show));
    expect(shown.map(({ sequence }) => sequence)).toEqual(sent);
    expect(shown.map((row) => row.order_key)).toEqual(['a', 'a', 'a', 'a']);
  });

  test('keeps a key blocked that is abandoned, until it is retried', async () => {
    const { id: endpoint } = await ordered({ max_attempts: 1 });
    failing('a', 0);
    const ids = await reportOf('a', 3);
    await world.untilDelivery(ids[0] ?? '', isStatus('abandoned'));
    await expect
      .poll(() => blocked(endpoint))
      .toMatchObject([
        {
          key: 'a',
          delivery_id: ids[0],
          status: 'abandoned',
          attempts: 1,
          failure_class: 'status',
        },
      ]);
    const [key] = await blocked(endpoint);
    expect(key.waiting).toEqual({ count: 2, is_exact: true });
    // Whoever has not looked for an hour is told.
    expect(await listFailing(world.db)).toEqual([]);
    await world.db.query(sql`
      update deliveries set finished_at = now() - interval '61 minutes' where id = ${ids[0]}`);
    expect(await listFailing(world.db)).toMatchObject([
      { id: endpoint, state: 'blocked', key: 'a', since: expect.any(String) },
    ]);
    receiver.behave(() => answer(204));
    await world.call('POST', `/webhook/dlq/${ids[0]}/retry`);
    await world.untilAll(ids, 'delivered');
    expect(numbersOf('a')).toEqual([0, 0, 1, 2]);
    expect(await blocked(endpoint)).toEqual([]);
    expect(await listFailing(world.db)).toEqual([]);
  });

  test('tells in its story of the keys behind which something waits, and lists all that failed', async () => {
    const { id: endpoint } = await ordered({ max_attempts: 1 });
    failing('a', 0);
    const [first = ''] = await reportOf('a', 1);
    await world.untilDelivery(first, isStatus('abandoned'));
    const story = async () =>
      (await world.call('GET', `/webhook/endpoints/${endpoint}?include=story`)).json.story.blocked;
    await expect.poll(() => blocked(endpoint)).toMatchObject([{ key: 'a', waiting: { count: 0 } }]);
    expect(await story()).toEqual([]);
    await report({ group: 'a', data: { group: 'a', n: 1 } });
    await expect.poll(story).toMatchObject([{ key: 'a', waiting: { count: 1 } }]);
  });

  test('goes on behind what is skipped, which comes in its old place when it is retried', async () => {
    const { id: endpoint } = await ordered({ max_attempts: 2, retry_schedule: [3600] });
    failing('a', 0);
    const ids = await reportOf('a', 2);
    await world.untilDelivery(ids[0] ?? '', isStatus('pending'));
    const answered = await skip(endpoint, 'a');
    expect(answered.json, answered.text).toEqual({ key: 'a', skipped: ids[0], next: ids[1] });
    await world.untilAll(ids.slice(1), 'delivered');
    expect(await show(ids[0] ?? '')).toMatchObject({ status: 'abandoned', attempts: 1 });
    const again = await skip(endpoint, 'a');
    expect(again.json, again.text).toMatchObject({ status: 409, code: 'key_not_blocked' });

    failing('a', 2);
    const more = [...(await reportOf('a', 3)).slice(2)];
    await world.untilDelivery(more[0] ?? '', isStatus('pending'));
    const last = await report({ group: 'a', data: { group: 'a', n: 3 } });
    await world.call('POST', `/webhook/dlq/${ids[0]}/retry`);
    receiver.behave(() => answer(204));
    await world.makeDue(more[0] ?? '');
    await world.untilAll([...ids, ...more, last], 'delivered');
    expect(numbersOf('a').slice(-3)).toEqual([2, 0, 3]);
  });

  test('passes by itself what is abandoned where it is told so, also later', async () => {
    const { id: endpoint } = await ordered({ max_attempts: 1, when_stuck: 'pass' });
    failing('a', 0);
    const ids = await reportOf('a', 2);
    await world.untilAll(ids.slice(1), 'delivered');
    expect(await show(ids[0] ?? '')).toMatchObject({ status: 'abandoned' });

    const path = `/webhook/endpoints/${endpoint}`;
    await world.call('PATCH', path, { body: { when_stuck: 'block' } });
    failing('b', 0);
    const other = await reportOf('b', 2);
    await world.untilDelivery(other[0] ?? '', isStatus('abandoned'));
    expect((await show(other[1] ?? '')).status).toBe('queued');
    await world.call('PATCH', path, { body: { when_stuck: 'pass' } });
    await world.untilAll(other.slice(1), 'delivered');
  });

  test.each(['purged', 'erased'])('goes on when what it waits for is %s', async (what) => {
    await ordered({ max_attempts: 1 });
    failing('a', 0);
    const ids = await reportOf('a', 3);
    const { incident_id: incident } = await show(ids[0] ?? '');
    await world.untilDelivery(ids[0] ?? '', isStatus('abandoned'));
    const gone =
      what === 'purged'
        ? await world.call('DELETE', `/webhook/dlq/${ids[0]}`)
        : await world.call('POST', `/incidents/${incident}/erase`);
    expect(gone.status, gone.text).toBeLessThan(300);
    await world.untilAll(ids.slice(1), 'delivered');
    expect(numbersOf('a')).toEqual([0, 1, 2]);
  });

  test('leaves out what is purged while it waits', async () => {
    await ordered({ max_attempts: 1 });
    failing('a', 0);
    const ids = await reportOf('a', 3);
    await world.untilDelivery(ids[0] ?? '', isStatus('abandoned'));
    await world.call('DELETE', `/webhook/dlq/${ids[1]}`);
    await world.call('DELETE', `/webhook/dlq/${ids[0]}`);
    await world.untilAll(ids.slice(2), 'delivered');
    expect(numbersOf('a')).toEqual([0, 2]);
  });

  test('sends at once what names no group, and a ping', async () => {
    const { id: endpoint } = await ordered({ max_attempts: 1 });
    failing('a', 0);
    const [head = ''] = await reportOf('a', 1);
    await world.untilDelivery(head, isStatus('abandoned'));
    const id = await report({});
    await world.untilDelivery(id, isStatus('delivered'));
    expect(await show(id)).toMatchObject({ order_key: null, sequence: expect.any(Number) });
    const ping = await world.call('POST', `/webhook/endpoints/${endpoint}/ping`);
    expect(ping.json.status).toBe('delivered');
  });

  test('keeps the order of what waits when it gets another one, and says so', async () => {
    const { id: endpoint } = await ordered({ max_attempts: 1, ordered: 'store' });
    receiver.behave((request) => answer(dataOf(request).n === 0 ? 500 : 204));
    const old = [];
    for (const n of [0, 1]) old.push(await report({ store: 's', data: { n } }));
    await world.untilDelivery(old[0] ?? '', isStatus('abandoned'));
    const path = `/webhook/endpoints/${endpoint}`;
    const changed = await world.call('PATCH', path, { body: { ordered: 'none' } });
    expect(changed.json.warnings.join()).toMatch(/1 delivery waiting already/);
    const free = await report({ store: 's', data: { n: 2 } });
    await world.untilDelivery(free, isStatus('delivered'));
    await world.call('PATCH', path, { body: { ordered: 'store' } });
    const behind = await report({ store: 's', data: { n: 3 } });
    expect(await show(behind)).toMatchObject({ waits_for: old[0] });
    await skip(endpoint, 's');
    await world.untilAll([old[1] ?? '', behind], 'delivered');
    expect(receiver.requests.map((request) => dataOf(request).n)).toEqual([0, 2, 1, 3]);
  });

  test('is replayed in order', async () => {
    const { id: endpoint } = await ordered();
    const ids = await reportOf('a', 5);
    await world.untilAll(ids, 'delivered');
    const body = { since: '2020-01-01T00:00:00Z', only: 'all' };
    const asked = await world.call('POST', `/webhook/endpoints/${endpoint}/replay`, { body });
    expect(asked.status, asked.text).toBe(202);
    await receiver.waitFor(10);
    expect(numbersOf('a')).toEqual([0, 1, 2, 3, 4, 0, 1, 2, 3, 4]);
    const numbers = receiver.requests.map(({ headers }) => Number(headers['webhook-sequence']));
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    await expect.poll(() => world.db.query(sql`select from order_keys`)).toEqual([]);
  });

  test('abandons after the time for disabled endpoints also what waits behind another', async () => {
    const { id: endpoint } = await ordered({ max_attempts: 1 });
    failing('a', 0);
    const ids = await reportOf('a', 2);
    await world.untilDelivery(ids[0] ?? '', isStatus('abandoned'));
    await world.call('PATCH', `/webhook/endpoints/${endpoint}`, { body: { enabled: false } });
    await world.db.query(sql`
      update webhook_endpoints set disabled_at = now() - interval '40 days' where id = ${endpoint}`);
    await world.db.query(sql`update deliveries set created_at = now() - interval '40 days'`);
    const { giveUpWaiting } = await import('../forget.ts');
    const { signal } = new AbortController();
    await giveUpWaiting(world.db, { days: 30, signal, batchSize: 10 });
    expect(await show(ids[1] ?? '')).toMatchObject({
      status: 'abandoned',
      failure_class: 'endpoint_disabled',
    });
    await world.call('PATCH', `/webhook/endpoints/${endpoint}`, { body: { enabled: true } });
    receiver.behave(() => answer(204));
    await world.call('POST', `/webhook/dlq/${ids[1]}/retry`);
    await expect.poll(async () => (await show(ids[1] ?? '')).waits_for).toBe(ids[0]);
    await world.call('POST', `/webhook/dlq/${ids[0]}/retry`);
    await world.untilAll(ids, 'delivered');
    expect(numbersOf('a')).toEqual([0, 0, 1]);
  });
});
