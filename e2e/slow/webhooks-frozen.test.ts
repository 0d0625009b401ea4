import { describe, expect, test } from 'vitest';
import { advisoryLocks } from '../../packages/server/src/platform/postgres/locks.ts';
import {
  answer,
  delayed,
  type Receiver,
  startReceiver,
} from '../../packages/server/test/receiver.ts';
import { createInstallation, type Installation } from '../lib/installation.ts';
import { query } from '../lib/postgres.ts';
import { waitFor } from '../lib/wait-for.ts';
import {
  addEndpoint,
  countByStatus,
  countRequests,
  expectDeadLetterCountsTrue,
  leasedKeys,
  report,
  webhookSettings,
} from '../lib/webhooks.ts';

const apiOnly = { ...webhookSettings, SVC_ROLES: 'api' };
// Long enough that what is in flight still is when a drainer is frozen.
const drainerOnly = { ...webhookSettings, SVC_ROLES: 'drainer', SVC_WEBHOOK_TIMEOUT_SECONDS: '3' };

async function withWorld(work: (installation: Installation, receiver: Receiver) => Promise<void>) {
  const [installation, receiver] = await Promise.all([createInstallation(), startReceiver()]);
  try {
    await work(installation, receiver);
  } finally {
    await installation.remove();
    await receiver.close();
  }
}

/** How many lanes each drainer holds. */
const lanesHeld = async (url: string) => {
  const rows = await query<{ lanes: number }>(
    url,
    `select count(*)::int as lanes from pg_locks
     where locktype = 'advisory' and classid = $1 and granted group by pid`,
    [advisoryLocks.lanes],
  );
  return rows.map(({ lanes }) => lanes).join(' ');
};

// They wait for leases of 18 seconds to run out: side by side.
describe.concurrent('a frozen drainer', () => {
  test('passes its lanes on to another, and changes nothing when it goes on', () =>
    withWorld(async (installation, receiver) => {
      const service = await installation.start(apiOnly);
      const url = await installation.postgresUrl();
      const frozen = await installation.start(drainerOnly);
      await waitFor('all lanes', async () => (await lanesHeld(url)) === '64');
      for (let n = 0; n < 16; n += 1) await addEndpoint(service, receiver.url(`/${n}`));
      // In flight when it is frozen: the receiver has them, and answers too late.
      receiver.behave(() => delayed(5000, answer(204)));
      await report(service);
      await receiver.waitFor(16);
      process.kill(frozen.pid, 'SIGSTOP');
      receiver.behave(() => answer(204));
      await installation.start(drainerOnly);
      const accepted = await report(service, 2);
      const silence = await waitFor('the silence to be told', async () => {
        const { json } = await service.call('GET', `/webhook/dlq/${accepted[0]?.id}`);
        return json.waiting?.reason === 'silent_drainer' && json.waiting;
      });
      expect(silence.text).toMatch(
        /^its drainer has not answered for \d+ s; another takes over in \d+ s$/,
      );
      expect(Date.parse(silence.until)).toBeGreaterThan(Date.now() - 60_000);
      await waitFor('all to be delivered', async () => {
        return (await countByStatus(url)).delivered === 48;
      });
      const counts = countRequests(receiver.requests);
      expect(counts.size).toBe(48);
      expect([...counts.values()].filter((count) => count > 1)).toEqual(Array(16).fill(2));

      const before = await outcomes(url);
      process.kill(frozen.pid, 'SIGCONT');
      await waitFor('both to share the lanes', async () => (await lanesHeld(url)) === '32 32');
      await report(service);
      await waitFor('all to be delivered', async () => {
        return (await countByStatus(url)).delivered === 64;
      });
      expect((await outcomes(url)).slice(0, before.length)).toEqual(before);
      expect(receiver.requests).toHaveLength(80);
      expect(await leasedKeys(url)).toEqual([]);
      await expectDeadLetterCountsTrue(url);
      const healthy = await query(
        url,
        'select from webhook_endpoints where failures_in_row > 0 or paused_until is not null',
      );
      expect(healthy).toEqual([]);
    }));

  test('does not keep svcctl drain from what is due', () =>
    withWorld(async (installation, receiver) => {
      const service = await installation.start(apiOnly);
      const url = await installation.postgresUrl();
      const frozen = await installation.start(drainerOnly);
      await waitFor('all lanes', async () => (await lanesHeld(url)) === '64');
      await addEndpoint(service, receiver.url());
      process.kill(frozen.pid, 'SIGSTOP');
      const accepted = await report(service, 3);
      const silence = await waitFor('the silence to be told', async () => {
        const { json } = await service.call('GET', `/webhook/dlq/${accepted[0]?.id}`);
        return json.waiting?.reason === 'silent_drainer' && json.waiting;
      });
      expect(silence.text).toMatch(/has not answered for \d+ s, and no other runs\. Start one/);
      const drained = await installation.run(['drain'], webhookSettings);
      expect(drained.code, drained.output).toBe(0);
      expect(await countByStatus(url)).toEqual({ delivered: 3 });
      expect(receiver.requests).toHaveLength(3);
    }));
});

/** What has become of each delivery, and its attempts on record. */
async function outcomes(url: string): Promise<unknown[]> {
  return query(
    url,
    `select d.id, d.status, d.version, d.attempts, count(a.number)::int as logged
     from deliveries d left join delivery_attempts a on a.lane = d.lane and a.delivery_id = d.id
     group by d.lane, d.id order by d.created_at, d.id`,
  );
}
