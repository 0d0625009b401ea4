import sql from 'sql-template-tag';
import { type Connection, type Database, onlyRow, withLongAnswers } from './database.ts';
import { instantText } from './sql-text.ts';

/** One moment of the database, which several connections can see. */
export type Snapshot = {
  /** The moment, as an instant. */
  readonly takenAt: string;
  /** Does the work in a transaction of its own that sees this moment and only reads. */
  read<T>(work: (connection: Connection) => Promise<T>): Promise<T>;
  /** Aborts when the snapshot is lost with its connection. Transactions that have begun keep it. */
  readonly lost: AbortSignal;
  close(): Promise<void>;
};

/** These transactions wait for slow places; what is not read in an hour belongs to a frozen process. */
const limits = `set local statement_timeout = 0; set local idle_in_transaction_session_timeout = '1h';
  set local tcp_user_timeout = '1h'`;

export async function openSnapshot(db: Database): Promise<Snapshot> {
  const session = await db.openSession();
  try {
    await session.query(sql`begin isolation level repeatable read read only`);
    const row = onlyRow(
      await session.query<{ id: string; taken_at: string }>(
        sql`select pg_export_snapshot() as id, ${instantText('now()')} as taken_at`,
      ),
    );
    return {
      takenAt: row.taken_at,
      lost: session.lost,
      read: (work) =>
        db.withConnection(async (connection) => {
          const { client } = connection;
          await client.query('begin isolation level repeatable read read only');
          await client.query(`set transaction snapshot '${row.id}'`);
          await client.query(limits);
          const result = await work(withLongAnswers(connection));
          await client.query('commit');
          return result;
        }),
      close: () => session.close(),
    };
  } catch (error) {
    await session.close();
    throw error;
  }
}
