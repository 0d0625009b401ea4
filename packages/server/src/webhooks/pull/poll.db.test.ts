import sql from 'sql-template-tag';
import { beforeEach, describe, expect, test } from 'vitest';
import { verify } from '../../../../receive/src/index.ts';
import { untilLockWaits } from '../../../test/one-server.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { listFailing } from '../endpoints/trouble-queries.ts';
import { forgetHistory } from '../forget.ts';
import { useWebhookApi } from '../testing/api.ts';
import { handOut, lockPlace } from './queries.ts';

const { service, freshTenant, addEndpoint, report: reportOne } = useWebhookApi({});

let endpoint: { id: string; secret: string };
let tenant = '';
const make = (more: object = {}) => addEndpoint({ tenant, type: 'pull', url: undefined, ...more });
beforeEach(async () => {
  tenant = freshTenant();
  endpoint = await make();
});
const report = async (count: number) => {
  for (let n = 0; n < count; n += 1) {
    await reportOne({ tenant, data: { n } });
  }
};
const poll = (query: Record<string, string> = {}, { id } = endpoint) =>
  service.call(
    'GET',
    `/webhook/endpoints/${id}/deliveries/poll?${String(new URLSearchParams(query))}`,
  );
const idsOf = ({ json }: Awaited<ReturnType<typeof poll>>): string[] =>
  json.data.map(({ id }: { id: string }) => id);
const numbersOf = ({ json }: Awaited<ReturnType<typeof poll>>): number[] =>
  json.data.map(({ body }: { body: string }) => JSON.parse(body).data.n);
const states = async () =>
  (await service.all(`/webhook/deliveries?endpoint_id=${endpoint.id}&limit=500`)).map(
    ({ status }: { status: string }) => status,
  );

test('the story of an endpoint tells a tenant that an operator polled, and not by which token', async () => {
  const path = `/webhook/endpoints/${endpoint.id}?include=story`;
  expect((await service.call('GET', path)).json.story.polled).toEqual({
    polled_at: null,
    polled_by: null,
    handed_out: 0,
    handed_out_since: null,
  });
  await poll();
  const { token } = await service.makeToken({ scopes: ['webhooks:read'], tenants: [tenant] });
  const { json } = await service.call('GET', path, { token });
  expect(json.story.polled.polled_by).toBe('an operator');
});

test('an endpoint that nobody polls for an hour, while a delivery waits, is told of', async () => {
  const told = async () =>
    (await listFailing(service.db))
      .filter(({ id }) => id === endpoint.id)
      .map(({ state }) => state);
  const unpolled = async () =>
    (await service.all(`/webhook/endpoints?tenant=${tenant}&health=unpolled`)).length;
  await report(1);
  expect(await told()).toEqual([]);
  await service.db.query(
    sql`update deliveries set next_attempt_at = now() - interval '61 minutes' where endpoint_id = ${endpoint.id}`,
  );
  expect([await told(), await unpolled()]).toEqual([['unpolled'], 1]);
  await poll();
  expect([await told(), await unpolled()]).toEqual([[], 0]);
  await service.db.query(
    sql`update pull_places set polled_at = now() - interval '61 minutes' where endpoint_id = ${endpoint.id}`,
  );
  expect(await told()).toEqual(['unpolled']);
  await service.call('PATCH', `/webhook/endpoints/${endpoint.id}`, { body: { enabled: false } });
  expect(await told()).toEqual(['held']);
});

describe('a poll', () => {
  test('hands out what waits, in its order and signed, and acknowledges by the next cursor', async () => {
    await report(5);
    const first = await poll({ limit: '2' });
    expect(first.status, first.text).toBe(200);
    expect(numbersOf(first)).toEqual([0, 1]);
    for (const { headers, body } of first.json.data) {
      expect(await verify(body, headers, endpoint.secret)).toMatchObject({
        type: 'incident.created',
      });
      expect(headers['webhook-sequence']).toMatch(/^\d+$/);
    }
    expect(await states()).toEqual(Array(5).fill('queued'));
    const path = `/webhook/endpoints/${endpoint.id}?include=story`;
    expect((await service.call('GET', path)).json.story.polled).toMatchObject({
      polled_at: expect.any(String),
      polled_by: 'first admin',
      handed_out: 2,
      handed_out_since: expect.any(String),
    });
    const second = await poll({ limit: '2', after: first.json.next_cursor });
    expect(numbersOf(second)).toEqual([2, 3]);
    expect((await states()).filter((status) => status === 'delivered')).toHaveLength(2);
    const third = await poll({ after: second.json.next_cursor });
    expect(numbersOf(third)).toEqual([4]);
    const last = await poll({ after: third.json.next_cursor });
    expect(last.json).toEqual({ data: [], next_cursor: third.json.next_cursor });
    expect(await states()).toEqual(Array(5).fill('delivered'));
    const { json } = await service.call('GET', `/webhook/dlq/${idsOf(first)[0]}`);
    expect(json).toMatchObject({ attempts: 1, attempt_log: [{ number: 1, failure_class: null }] });
    const shown = await service.call('GET', `/webhook/endpoints/${endpoint.id}?include=story`);
    expect(shown.json).toMatchObject({ type: 'pull', backlog: { count: 0 } });
  });

  test('whose answer is lost is answered the same again, and acknowledges nothing', async () => {
    await report(3);
    const lost = await poll({ limit: '2' });
    expect(idsOf(await poll({ limit: '2' }))).toEqual(idsOf(lost));
    const next = await poll({ after: lost.json.next_cursor });
    await report(1);
    const again = await poll({ after: lost.json.next_cursor });
    expect(idsOf(again).slice(0, 1)).toEqual(idsOf(next));
    expect(numbersOf(again)).toEqual([2, 0]);
    expect((await states()).filter((status) => status === 'queued')).toHaveLength(2);
  });

  test('with an old cursor acknowledges nothing that came after it', async () => {
    await report(6);
    const first = await poll({ limit: '2' });
    const second = await poll({ limit: '2', after: first.json.next_cursor });
    const third = await poll({ limit: '2', after: second.json.next_cursor });
    const old = await poll({ after: first.json.next_cursor });
    expect(idsOf(old)).toEqual(idsOf(third));
    expect((await states()).filter((status) => status === 'delivered')).toHaveLength(4);
  });

  test('beside another loses nothing, whichever of them acknowledges', async () => {
    await report(40);
    const seen = new Set<string>();
    const run = async () => {
      let after: string | null = null;
      for (;;) {
        const answer = await poll({ limit: '3', ...(after !== null && { after }) });
        if (answer.json.data.length === 0) return;
        for (const id of idsOf(answer)) seen.add(id);
        after = answer.json.next_cursor;
      }
    };
    await Promise.all([run(), run(), report(20), run()]);
    await run();
    expect(seen.size).toBe(60);
    expect(await states()).toEqual(Array(60).fill('delivered'));
  });

  test('waits for a delivery, and no longer than it was asked to', async () => {
    const waiting = poll({ wait: '20' });
    await report(1);
    expect(numbersOf(await waiting)).toEqual([0]);
    const { next_cursor: after } = (await poll()).json;
    expect((await poll({ after, wait: '1' })).json).toEqual({ data: [], next_cursor: after });
    expect((await poll({ wait: '31' })).status).toBe(400);
  });

  test('takes only a cursor of its own endpoint', async () => {
    await report(1);
    const { next_cursor: after } = (await poll()).json;
    const other = await make();
    for (const wrong of [after.slice(1), 'garbage', 'AAAA']) {
      expect((await poll({ after: wrong })).json.code).toBe('cursor_invalid');
    }
    expect((await poll({ after }, other)).json.code).toBe('cursor_invalid');
    expect(await states()).toEqual(['queued']);
  });

  test('leaves to the head of a request what it acknowledges', async () => {
    await report(1);
    const { next_cursor: after } = (await poll()).json;
    const path = `/webhook/endpoints/${endpoint.id}/deliveries/poll?after=${after}`;
    expect((await service.call('HEAD', path)).status).toBe(200);
    expect(await states()).toEqual(['queued']);
  });

  test('answers at most 4 MiB of payloads', async () => {
    const data = 'x'.repeat(250_000);
    const lines = Array(20)
      .fill(JSON.stringify({ tenant, type: 'a.b', data }))
      .join('\n');
    const headers = { 'content-type': 'application/x-ndjson' };
    await service.call('POST', '/incidents', { body: lines, headers });
    const handedOut = async () => {
      const path = `/webhook/endpoints/${endpoint.id}?include=story`;
      return (await service.call('GET', path)).json.story.polled.handed_out;
    };
    const first = await poll();
    expect(first.json.data).toHaveLength(16);
    // Only what was in an answer counts as handed out, however often that is asked for.
    await poll();
    expect(await handedOut()).toBe(16);
    expect((await poll({ after: first.json.next_cursor })).json.data).toHaveLength(4);
    expect(await handedOut()).toBe(4);
  });
});

describe('an endpoint that is polled', () => {
  test('is sent nothing, however long it waits', async () => {
    await report(3);
    const url = 'http://127.0.0.1:9/hook';
    await service.call('POST', '/webhook/endpoints', { body: { tenant, url } });
    await report(1);
    await expect
      .poll(
        async () =>
          (await service.all(`/webhook/deliveries?tenant=${tenant}&status=pending`)).length,
      )
      .toBe(1);
    expect(await states()).toEqual(Array(4).fill('queued'));
    const [id] = idsOf(await poll());
    const { waiting } = (await service.call('GET', `/webhook/dlq/${id}`)).json;
    expect(waiting).toMatchObject({ reason: 'poll' });
  });

  test('that is disabled answers no poll, and hands out what waited once it is enabled', async () => {
    const path = `/webhook/endpoints/${endpoint.id}`;
    await service.call('PATCH', path, { body: { enabled: false } });
    await report(1);
    expect((await poll()).json.code).toBe('endpoint_disabled');
    await service.call('PATCH', path, { body: { enabled: true } });
    expect(numbersOf(await poll())).toEqual([0]);
  });

  test('is told of no settings that mean nothing to it', async () => {
    for (const more of [
      { url: 'http://127.0.0.1:9/x' },
      { ordered: 'store' },
      { rate_limit: 3 },
      { headers: { a: 'b' } },
      { delivery: { timeout_seconds: 3 } },
      { delivery: { no_retry_on: [422] } },
    ]) {
      const body = { tenant, type: 'pull', ...more };
      expect((await service.call('POST', '/webhook/endpoints', { body })).status).toBe(400);
    }
    const path = `/webhook/endpoints/${endpoint.id}`;
    for (const change of [{ url: 'http://127.0.0.1:9/x' }, { delivery: { max_in_flight: 2 } }])
      expect((await service.call('PATCH', path, { body: change })).status).toBe(400);
    const none = await service.call('POST', '/webhook/endpoints', { body: { tenant } });
    expect(none.json.errors).toMatchObject([{ path: '/url', code: 'field_required' }]);
  });

  test('gets a ping with the next poll', async () => {
    const ping = await service.call('POST', `/webhook/endpoints/${endpoint.id}/ping`);
    expect(ping.json).toMatchObject({ status: 'queued', outcome: null });
    expect(idsOf(await poll())).toEqual([ping.json.id]);
  });

  test('has what nobody fetched in time among the dead letters, and after a retry again', async () => {
    endpoint = await make({ delivery: { expires_after_seconds: 60 } });
    await report(2);
    await poll({ limit: '1' });
    await service.db.query(
      sql`update deliveries set next_attempt_at = now() - interval '61 seconds' where endpoint_id = ${endpoint.id}`,
    );
    await forgetHistory(service.db, { days: 30, incidentDays: 0 }, new AbortController().signal);
    expect(await states()).toEqual(['abandoned', 'abandoned']);
    const dead = await service.all(`/webhook/dlq?status=abandoned&endpoint_id=${endpoint.id}`);
    expect(dead[0]).toMatchObject({ failure_class: 'expired', attempts: 0 });
    expect((await poll()).json.data).toEqual([]);
    const retried = await service.call('POST', `/webhook/dlq/${dead[0].id}/retry`);
    expect(retried.status).toBe(202);
    expect(idsOf(await poll())).toEqual([dead[0].id]);
    const { next_cursor: after } = (await poll()).json;
    await poll({ after });
    expect((await states()).toSorted()).toEqual(['abandoned', 'delivered']);
  });

  test.each(['its first poll', 'a later poll'])(
    'leaves nothing when it is deleted during %s',
    async (which) => {
      if (which !== 'its first poll') await poll();
      await report(2);
      const left = (db: Queryable) =>
        db.query(sql`select delivery_id from pulled_deliveries where endpoint_id = ${endpoint.id}`);
      const deleting = await service.db.transaction(async (polling) => {
        await lockPlace(polling, endpoint.id, 'poller');
        await handOut(polling, endpoint.id, { limit: 10, bytes: 1000, takesLarge: true });
        expect(await left(polling)).toHaveLength(2);
        // In an object of its own, so that the transaction does not wait for it.
        const asked = { gone: service.call('DELETE', `/webhook/endpoints/${endpoint.id}`) };
        await untilLockWaits(service.db, 1);
        return asked;
      });
      expect((await deleting.gone).status).toBe(204);
      expect(await left(service.db)).toEqual([]);
    },
  );

  test('forgets what was handed out and was purged since, whether or not it is acknowledged', async () => {
    await report(3);
    const [first = '', , last = ''] = idsOf(await poll());
    await service.db.query(sql`
      update deliveries set status = 'discarded', next_attempt_at = null, finished_at = now() where id = ${first}`);
    const left = async () =>
      (
        await service.db.query<{ id: string }>(sql`
          select delivery_id as id from pulled_deliveries where endpoint_id = ${endpoint.id} order by position`)
      ).map(({ id }) => id);
    expect(await left()).toHaveLength(3);
    const { signal } = new AbortController();
    await forgetHistory(service.db, { days: 30, incidentDays: 0 }, signal, 1);
    expect(await left()).toHaveLength(2);
    expect(await left()).not.toContain(first);
    const { next_cursor: after } = (await poll()).json;
    expect(await left()).toContain(last);
    await poll({ after });
    expect((await states()).toSorted()).toEqual(['delivered', 'delivered', 'discarded']);
  });

  test('takes back its own URL, which changes nothing, and no other', async () => {
    const path = `/webhook/endpoints/${endpoint.id}`;
    const change = (body: object, to = path) => service.call('PATCH', to, { body });
    expect(await change({ url: 'pull:' })).toMatchObject({
      status: 200,
      json: { url: 'pull:', type: 'pull', warnings: [] },
    });
    expect((await change({ url: 'https://a.example/' })).json).toMatchObject({
      status: 400,
      errors: [{ path: '/url' }],
    });
    const push = { tenant, url: 'http://127.0.0.1:9/hook' };
    const { id } = (await service.call('POST', '/webhook/endpoints', { body: push })).json;
    const refused = await change({ url: 'pull:' }, `/webhook/endpoints/${id}`);
    expect(refused.json.code).toBe('target_invalid');
  });

  test('is not of the type push', async () => {
    const body = { tenant, url: 'http://127.0.0.1:9/hook' };
    const pushed = await service.call('POST', '/webhook/endpoints', { body });
    expect((await poll({}, pushed.json)).json.code).toBe('endpoint_not_polled');
  });
});
