import fc from 'fast-check';
import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { answer, type ReceivedRequest, reset, useReceiver } from '../../../test/receiver.ts';
import { runs } from '../../../test/runs.ts';
import { createLog, startService } from '../../app.ts';
import { loadSettings, usualWaits } from '../../config/settings.ts';
import { isHeldLock } from '../../platform/postgres/locks.ts';
import { useWorld } from '../drainer/testing/world.ts';

const receiver = useReceiver('each');
const world = useWorld({ SVC_ROLES: 'api' });
const silent = createLog('silent');

/** Another process on the same database. */
const start = (role: 'api' | 'drainer') =>
  startService(
    {
      ...loadSettings({
        DATABASE_URL: world.db.url,
        SVC_DATA_DIR: world.dataDir,
        SVC_PORT: '0',
        SVC_ROLES: role,
        SVC_ALLOW_TARGETS: '127.0.0.0/8',
        SVC_WEBHOOK_TIMEOUT_SECONDS: '2',
      }),
      waits: { ...usualWaits, lanesMillis: 100 },
    },
    silent,
  );

/** Ends the sessions by which drainers hold their lanes, as a connection that breaks does. */
const breakSessions = () =>
  world.db.query(sql`
    select pg_terminate_backend(pid) from pg_locks where ${isHeldLock('drainers')} and pid <> pg_backend_pid()`);

const keyOf = ({ body, path }: ReceivedRequest) => `${path} ${JSON.parse(body).data.group}`;

/** Requests that came after one of their key that was accepted later. */
function outOfOrder(requests: readonly ReceivedRequest[]): string[] {
  const newest = new Map<string, number>();
  return requests.flatMap((request) => {
    const sequence = Number(request.headers['webhook-sequence']);
    const key = keyOf(request);
    const before = newest.get(key) ?? 0;
    newest.set(key, Math.max(before, sequence));
    return sequence < before ? [`${key}: ${sequence} after ${before}`] : [];
  });
}

test('whatever fails, and whoever loses its connection or ends, each key comes in the order of its numbers', async () => {
  const plan = fc.record({
    groups: fc.integer({ min: 1, max: 4 }),
    count: fc.integer({ min: 20, max: 40 }),
    faults: fc.array(fc.constantFrom(204, 204, 204, 204, 500, 503, 0), {
      minLength: 7,
      maxLength: 20,
    }),
    whenStuck: fc.constantFrom('block', 'pass'),
    breaks: fc.integer({ min: 0, max: 3 }),
  });
  await fc.assert(
    fc.asyncProperty(plan, async ({ groups, count, faults, whenStuck, breaks }) => {
      const begun = receiver.requests.length;
      receiver.behave(({ number }) => {
        const status = faults[number % faults.length] ?? 204;
        return status === 0 ? reset() : answer(status);
      });
      const made = {
        ordered: 'group',
        when_stuck: whenStuck,
        retry_schedule: [1],
        max_attempts: 20,
      };
      const tenant = `T${begun}`;
      const endpoints = [];
      for (const n of [0, 1]) {
        endpoints.push(
          await world.addEndpoint(receiver.url(`/${begun}-${n}`), { ...made, tenant }),
        );
      }
      const other = await start('api');
      let drainers: Awaited<ReturnType<typeof start>>[] = [];
      drainers = await Promise.all([start('drainer'), start('drainer')]);
      try {
        const report = async (n: number) => {
          const body = {
            tenant,
            type: 'a.b',
            group: `g${n % groups}`,
            data: { group: n % groups, n },
          };
          const url = n % 2 === 0 ? world.url : other.url;
          const answered = await fetch(`${url}/api/v1/incidents`, {
            method: 'POST',
            headers: {
              authorization: `Bearer ${world.adminToken}`,
              'content-type': 'application/json',
            },
            body: JSON.stringify(body),
          });
          expect(answered.status).toBe(202);
        };
        const reporting = Promise.all(
          [0, 1, 2, 3].map(async (first) => {
            for (let n = first; n < count; n += 4) await report(n);
          }),
        );
        for (let n = 0; n < breaks; n += 1) {
          await receiver.waitFor(begun + 10 * (n + 1));
          if (n === 1) {
            const [first, second] = drainers;
            await first?.close();
            drainers = [await start('drainer'), ...(second === undefined ? [] : [second])];
          } else await breakSessions();
        }
        await reporting;
        const open = () =>
          world.db.query(
            sql`select id from deliveries where status not in ('delivered') and tenant = ${tenant}`,
          );
        await expect.poll(open, { timeout: 120_000, interval: 100 }).toEqual([]);
      } finally {
        for (const one of [other, ...drainers]) await one.close();
      }
      const came = receiver.requests.slice(begun);
      expect(outOfOrder(came)).toEqual([]);
      expect(new Set(came.map(({ id }) => id)).size).toBe(count * endpoints.length);
      expect(await world.db.query(sql`select from order_keys`)).toEqual([]);
    }),
    { numRuns: runs(1) },
  );
}, 300_000);
