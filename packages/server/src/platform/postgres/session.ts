import { createGate } from '../../kernel/gate.ts';
import { OwnClient, type OwnConfig, runStatement, setUp, staleStatements } from './client.ts';
import type { Session } from './database.ts';
import { sqlState, translateDatabaseError } from './errors.ts';

/** Opens a connection outside the pool; see `openSession` of `Database`. */
export async function openSession(config: OwnConfig, silenceSeconds: number): Promise<Session> {
  const client = new OwnClient(config);
  const lost = new AbortController();
  client.on('error', () => lost.abort());
  client.on('end', () => lost.abort());
  try {
    await client.connect();
    await setUp(client, endsWhenSilent(silenceSeconds));
  } catch (error) {
    await client.end().catch(() => {});
    throw translateDatabaseError(error);
  }
  // Several callers may share a session, and a client takes one statement at a time.
  const turns = createGate(1);
  let isBeating = false;
  const beat = setInterval(() => {
    if (isBeating) return;
    isBeating = true;
    const onAnswer = () => {
      isBeating = false;
    };
    // Nobody knows whether a session that does not answer still has its locks, so it counts as lost.
    client.query('select 1').then(onAnswer, () => lost.abort());
  }, silenceSeconds * 250);
  beat.unref();
  lost.signal.addEventListener('abort', () => clearInterval(beat), { once: true });
  return {
    lost: lost.signal,
    async query(statement, options) {
      try {
        return await turns.run(() => runStatement(client, statement, options));
      } catch (error) {
        // The statement would fail for as long as the session lives, so its owner is to open another.
        if (staleStatements.has(sqlState(error) ?? '')) lost.abort();
        throw error;
      }
    },
    onNotification: (handler) => client.on('notification', ({ payload }) => handler(payload ?? '')),
    async close() {
      lost.abort();
      // Ending a connection that is already broken fails, and there is nothing left to end.
      await client.end().catch(() => {});
    },
  };
}

/**
 * Makes the server end a session that is silent. The server's clock decides, so it does not matter what the process
 * does. Keep-alives find a machine that is gone sooner.
 */
function endsWhenSilent(silenceSeconds: number): Record<string, string> {
  return {
    idle_session_timeout: `${Math.ceil(silenceSeconds * 1000)}ms`,
    tcp_keepalives_idle: '5',
    tcp_keepalives_interval: '5',
    tcp_keepalives_count: '3',
  };
}
