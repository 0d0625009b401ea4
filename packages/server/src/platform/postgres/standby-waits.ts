import type pg from 'pg';
import type { OwnClient } from './client.ts';

/**
 * Ends waits for a standby, which have no limit of their own: the statement time-out does not count there, and a backend
 * whose client has gone waits on, until the server has no connection left. A wait that two looks have found is ended. The
 * looks use a connection of their own, because those of the pool may all be waiting.
 */
export function endStandbyWaits(
  running: ReadonlyMap<OwnClient, number>,
  { connect, standbyMillis }: { connect: () => pg.Client; standbyMillis: number },
): () => void {
  let isLooking = false;
  let found = new Map<number, number>();
  async function look(): Promise<void> {
    const longAgo = performance.now() - standbyMillis;
    const old = new Map(
      [...running].flatMap(([{ backendPid }, since]) =>
        since < longAgo ? [[backendPid, since]] : [],
      ),
    );
    if (old.size === 0) return;
    const client = connect();
    try {
      await client.connect();
      const { rows } = await client.query<{ pid: number }>(
        `select pid from pg_stat_activity where pid = any ($1::int[]) and wait_event = 'SyncRep'`,
        [[...old.keys()]],
      );
      const before = found;
      found = new Map(rows.map(({ pid }) => [pid, old.get(pid) ?? 0]));
      for (const [pid, since] of found) {
        if (before.get(pid) === since) await client.query('select pg_cancel_backend($1)', [pid]);
      }
    } finally {
      await client.end();
    }
  }
  const timer = setInterval(() => {
    if (isLooking) return;
    isLooking = true;
    // Who waits learns of a database that is away by its own statement.
    look()
      .catch(() => {})
      .finally(() => {
        isLooking = false;
      });
  }, standbyMillis);
  timer.unref();
  return () => clearInterval(timer);
}
