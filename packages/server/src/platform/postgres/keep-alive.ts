import sql from 'sql-template-tag';
import type { Queryable } from './database.ts';

/**
 * Has the server look whether the client of a session is still there, if it supports that: it keeps the
 * locks of a machine that vanished without closing its connections, by itself for two hours.
 */
export async function shortenKeepAlive(session: Queryable): Promise<void> {
  await session.query(sql`
    select set_config('tcp_keepalives_idle', '5', false), set_config('tcp_keepalives_interval', '5', false),
      set_config('tcp_keepalives_count', '3', false)`);
}
