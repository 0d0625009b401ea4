import sql from 'sql-template-tag';
import { afterEach, expect, test } from 'vitest';
import { useTestService } from '../../../test/service.ts';
import type { Actor } from '../../kernel/actor.ts';
import { type Act, purgeDeadLetter, retryDeadLetter } from './retry.ts';
import {
  findWrongCounts,
  readDelivery,
  seedDelivery,
  seedEndpoint,
  untilLocked,
} from './testing/seed.ts';

const service = useTestService({ SVC_ROLES: 'api' });
afterEach(async () => expect(await findWrongCounts(service.db)).toEqual([]));

const retry = (id: string, token?: string | null) =>
  service.call('POST', `/webhook/dlq/${id}/retry`, token === undefined ? {} : { token });
const purge = (id: string, token?: string | null) =>
  service.call('DELETE', `/webhook/dlq/${id}`, token === undefined ? {} : { token });

const admin: Actor = {
  tokenId: 't',
  name: 'admin',
  scopes: ['admin'],
  tenants: null,
  expiresAt: null,
};
/** An act that keeps what it puts on record, and what it woke. */
function recordedAct() {
  const noted: { action: string; target: string | null; before?: unknown }[] = [];
  const woken: string[] = [];
  const act: Act = {
    actor: admin,
    async note(_db, entry) {
      noted.push(entry);
    },
  };
  const wakeUp = { wake: (ids: readonly string[]) => void woken.push(...ids) };
  return { noted, woken, act, wakeUp, maxAttempts: 8 };
}

test('a malformed, an unknown and a foreign id answer 404 and change nothing', async () => {
  const id = await seedDelivery(service.db, await seedEndpoint(service.db));
  const { token } = await service.makeToken({ preset: 'admin', tenants: ['other'] });
  for (const call of [retry, purge]) {
    expect((await call(id, token)).json).toMatchObject({ status: 404, code: 'delivery_not_found' });
    expect((await call('nonsense')).status).toBe(404);
    expect((await call('dlv_63aaaaaaaaaaaaaaaaaa')).status).toBe(404);
  }
  expect(await readDelivery(service.db, id)).toMatchObject({ status: 'abandoned', version: 0 });
});

test('a delivered or discarded delivery is not retried', async () => {
  const endpoint = await seedEndpoint(service.db);
  for (const status of ['delivered', 'discarded'] as const) {
    const id = await seedDelivery(service.db, endpoint, { status });
    expect((await retry(id)).json).toMatchObject({ status: 409, code: 'delivery_finished' });
    expect(await readDelivery(service.db, id)).toMatchObject({ status, version: 0 });
  }
});

test('a delivery of a disabled or deleted endpoint is not retried', async () => {
  for (const options of [{ enabled: false }, { isDeleted: true }]) {
    const id = await seedDelivery(service.db, await seedEndpoint(service.db, options));
    expect((await retry(id)).json).toMatchObject({ status: 409, code: 'endpoint_disabled' });
    expect((await readDelivery(service.db, id)).status).toBe('abandoned');
  }
});

test.each(['pending', 'abandoned'] as const)(
  'a %s delivery is re-armed with a fresh budget',
  async (status) => {
    const endpoint = await seedEndpoint(service.db);
    const id = await seedDelivery(service.db, endpoint, { status, attempts: 5, leasedSeconds: -1 });
    const answer = await retry(id);
    expect(answer.status).toBe(202);
    expect(answer.json).toMatchObject({
      id,
      status: 'queued',
      attempts: 5,
      max_attempts: 13,
      last_status: 500,
      error: 'the receiver answered 500',
      next_retry: expect.any(String),
    });
    expect(await readDelivery(service.db, id)).toEqual({
      status: 'queued',
      version: 1,
      attempts: 5,
      max_attempts: 13,
      schedule_from: 5,
      is_probe: true,
      is_due: true,
      held_by: null,
      lease: null,
      finished_at: null,
    });
  },
);

test('the budget is that of the endpoint if it names one', async () => {
  const id = await seedDelivery(service.db, await seedEndpoint(service.db, { maxAttempts: 3 }));
  expect((await retry(id)).json.max_attempts).toBe(11);
});

test('a retry of what is queued or in flight changes nothing', async () => {
  const endpoint = await seedEndpoint(service.db);
  const queued = await seedDelivery(service.db, endpoint, { status: 'queued' });
  const inFlight = await seedDelivery(service.db, endpoint, {
    status: 'pending',
    leasedSeconds: 30,
  });
  const options = recordedAct();
  for (const id of [queued, inFlight]) {
    const before = await readDelivery(service.db, id);
    expect((await retry(id)).status).toBe(202);
    await retryDeadLetter(service.db, id, options);
    expect(await readDelivery(service.db, id)).toEqual(before);
  }
  expect(options).toMatchObject({ noted: [], woken: [] });
});

test('a hundred racing retries are one re-arm', async () => {
  const id = await seedDelivery(service.db, await seedEndpoint(service.db));
  const answers = await Promise.all(Array.from({ length: 100 }, () => retry(id)));
  expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([202]));
  expect(new Set(answers.map((answer) => answer.json.status))).toEqual(new Set(['queued']));
  expect(await readDelivery(service.db, id)).toMatchObject({ version: 1, max_attempts: 16 });
});

test('racing retries leave one audit entry and wake its endpoint once', async () => {
  const endpoint = await seedEndpoint(service.db);
  const id = await seedDelivery(service.db, endpoint);
  const options = recordedAct();
  await Promise.all(Array.from({ length: 30 }, () => retryDeadLetter(service.db, id, options)));
  expect(options.noted).toMatchObject([
    { action: 'delivery.retry', target: id, tenant: 'T', before: { status: 'abandoned' } },
  ]);
  expect(options.woken).toEqual([endpoint.id]);
});

test('a retry whose record cannot be written does not happen', async () => {
  const id = await seedDelivery(service.db, await seedEndpoint(service.db));
  const { act, ...options } = recordedAct();
  const note = async () => {
    throw new Error('no record');
  };
  await expect(
    retryDeadLetter(service.db, id, { ...options, act: { ...act, note } }),
  ).rejects.toThrow('no record');
  expect((await readDelivery(service.db, id)).status).toBe('abandoned');
  expect(options.woken).toEqual([]);
});

test('a delivered delivery is not purged', async () => {
  const id = await seedDelivery(service.db, await seedEndpoint(service.db), {
    status: 'delivered',
  });
  expect((await purge(id)).json).toMatchObject({ status: 409, code: 'delivery_finished' });
});

test.each(['queued', 'pending', 'abandoned'] as const)(
  'a %s delivery is purged, even in flight, and again',
  async (status) => {
    const endpoint = await seedEndpoint(service.db, { enabled: false });
    const id = await seedDelivery(service.db, endpoint, {
      status,
      leasedSeconds: 30,
      isProbe: true,
    });
    expect((await purge(id)).status).toBe(204);
    expect((await purge(id)).status).toBe(204);
    expect(await readDelivery(service.db, id)).toMatchObject({
      status: 'discarded',
      version: 1,
      is_probe: false,
      is_due: null,
      lease: null,
      finished_at: expect.any(String),
    });
  },
);

test('purges are put on record once, with what the delivery was', async () => {
  const id = await seedDelivery(service.db, await seedEndpoint(service.db), { attempts: 8 });
  const { act, noted } = recordedAct();
  await Promise.all(Array.from({ length: 10 }, () => purgeDeadLetter(service.db, id, act)));
  expect(noted).toMatchObject([
    { action: 'delivery.purge', target: id, before: { status: 'abandoned', attempts: 8 } },
  ]);
});

test('a retry that meets a purge is told', async () => {
  const id = await seedDelivery(service.db, await seedEndpoint(service.db));
  await service.db.transaction(async (holder) => {
    await holder.query(sql`select id from deliveries where id = ${id} for update`);
    const late = retry(id);
    await untilLocked(service.db, 1);
    await holder.query(sql`
      update deliveries set status = 'discarded', version = version + 1, finished_at = now() where id = ${id}`);
    await holder.query(
      sql`update dead_letter_counts set count = 0 where endpoint_id = (select endpoint_id from deliveries where id = ${id})`,
    );
    await holder.client.query('commit');
    expect((await late).json.code).toBe('delivery_finished');
  });
});
