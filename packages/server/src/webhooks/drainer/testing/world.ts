import sql from 'sql-template-tag';
import { afterEach, expect } from 'vitest';
import { type Receiver, useReceiver } from '../../../../test/receiver.ts';
import { startTestService, type TestService } from '../../../../test/service.ts';
import { use } from '../../../../test/use.ts';
import type { Environment } from '../../../config/settings.ts';
import { clearQueue, findWrongCounts } from '../../dead-letters/testing/seed.ts';
import { laneOfDelivery } from '../../lanes.ts';
import type { DeliveryStatus } from '../../values.ts';

export type World = TestService & {
  /** Registers an endpoint; answers its id and secret. */
  addEndpoint(url: string, more?: Record<string, unknown>): Promise<{ id: string; secret: string }>;
  /** Reports so many incidents at once; answers the ids of their deliveries, in the order of the reports. */
  report(count?: number, tenant?: string): Promise<string[]>;
  /** The delivery as the API shows it, once it has come so far. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  untilDelivery(id: string, isSo: (delivery: any) => boolean): Promise<any>;
  /** Waits until all these deliveries have the status. */
  untilAll(ids: readonly string[], status: DeliveryStatus): Promise<void>;
  /** Lets a lease end, or the next attempt be due, as if its time had come. */
  makeDue(id: string): Promise<void>;
  /** Fails unless the counters say what the rows do. */
  expectCountsToFit(): Promise<void>;
};

/** A service that may send to this machine, with a drainer unless told otherwise. */
export async function startWorld(env: Environment = {}): Promise<World> {
  const settings = { SVC_ALLOW_TARGETS: '127.0.0.0/8', SVC_WEBHOOK_TIMEOUT_SECONDS: '2', ...env };
  const waits = { replaySettleMillis: 0 };
  const service = await startTestService(settings, undefined, { waits });
  const get = async (path: string) => (await service.call('GET', path)).json;
  return {
    ...service,
    async addEndpoint(url, more = {}) {
      const body = { tenant: 'TX', url, ...more };
      const answer = await service.call('POST', '/webhook/endpoints', { body });
      expect(answer.status, answer.text).toBe(201);
      return answer.json;
    },
    async report(count = 1, tenant = 'TX') {
      const report = async (number: number): Promise<string[]> => {
        const body = { tenant, type: 'incident.created', data: { number } };
        const answer = await service.call('POST', '/incidents', { body });
        expect(answer.status, answer.text).toBe(202);
        return answer.json.deliveries.map(({ id }: { id: string }) => id);
      };
      return (
        await Promise.all(Array.from({ length: count }, (_, number) => report(number)))
      ).flat();
    },
    async untilDelivery(id, isSo) {
      let delivery: unknown;
      await expect
        .poll(
          async () => {
            delivery = await get(`/webhook/dlq/${id}`);
            return isSo(delivery) ? 'so' : delivery;
          },
          { timeout: 30_000, interval: 20 },
        )
        .toBe('so');
      return delivery;
    },
    async untilAll(ids, status) {
      const others = () =>
        service.db.query(sql`
          select id, status from deliveries where id = any(${ids}::text[]) and status <> ${status}`);
      await expect.poll(others, { timeout: 60_000, interval: 20 }).toEqual([]);
    },
    async makeDue(id) {
      await service.db.query(sql`
        update deliveries set leased_until = least(leased_until, now() - interval '1 second'),
          next_attempt_at = case when next_attempt_at is not null then now() end
        where lane = ${laneOfDelivery(id)} and id = ${id}`);
      await service.db.query(sql`select pg_notify('svcctl_due', '*')`);
    },
    async expectCountsToFit() {
      expect(await findWrongCounts(service.db)).toEqual([]);
    },
  };
}

/** A world for all tests of a file. */
export function useWorld(env: Environment = {}): World {
  return use(
    () => startWorld(env),
    (world) => world.stop(),
  );
}

/** A world for all tests of a file, and a receiver for each. After a test the counters must fit, and nothing is left. */
export function useCleanWorld(): { world: World; receiver: Receiver } {
  const world = useWorld();
  const receiver = useReceiver('each');
  afterEach(async () => {
    await world.expectCountsToFit();
    await world.db.query(sql`update webhook_endpoints set deleted_at = now()`);
    await world.db.query(sql`delete from delivery_attempts`);
    await clearQueue(world.db);
    await world.db.query(sql`delete from incident_keys`);
    await world.db.query(sql`delete from incidents`);
  });
  return { world, receiver };
}

export const isStatus = (status: string) => (delivery: { status: string }) =>
  delivery.status === status;
