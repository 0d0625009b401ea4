import sql from 'sql-template-tag';
import type { Connection, Database, Queryable } from '../platform/postgres/database.ts';
import { instantText } from '../platform/postgres/sql-text.ts';

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

/**
 * These transactions wait for a slow place, for much longer than others may: what is not read in an hour belongs to a
 * process that is frozen.
 */
const limits = `set local statement_timeout = 0; set local idle_in_transaction_session_timeout = '1h';
  set local tcp_user_timeout = '1h'`;

export async function openSnapshot(db: Database): Promise<Snapshot> {
  const session = await db.openSession();
  try {
    await session.query(sql`begin isolation level repeatable read read only`);
    const [row] = await session.query<{ id: string; taken_at: string }>(
      sql`select pg_export_snapshot() as id, ${instantText('now()')} as taken_at`,
    );
    if (row === undefined) throw new Error('no snapshot was exported');
    return {
      takenAt: row.taken_at,
      lost: session.lost,
      read: (work) =>
        db.withConnection(async (connection) => {
          const { client } = connection;
          await client.query('begin isolation level repeatable read read only');
          await client.query(`set transaction snapshot '${row.id}'`);
          await client.query(limits);
          const result = await work(connection);
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

/** What a backup holds of the objects that the database refers to. */
export type ObjectRow = {
  key: string;
  size_bytes: number;
  sha256: string;
  tenant: string;
  count: number | null;
  bytes: number | null;
  digest: string | null;
};

const objectsAtOnce = 1000;

/**
 * All objects without which this database would not be whole, in the order of tenants and keys: segments, what open
 * moves have written, and files of exports that have not expired.
 */
export async function* eachObject(db: Queryable): AsyncGenerator<ObjectRow[]> {
  let [tenant, key] = ['', ''];
  for (;;) {
    const page = await db.query<ObjectRow>(sql`
      select tenant, object_key as key, size_bytes, encode(sha256, 'hex') as sha256, count, bytes,
        digest::text as digest
      from (
        select tenant, object_key, size_bytes, sha256, count, bytes, digest from segments
        union all
        select s.tenant, s.object_key, s.size_bytes, s.sha256, null, null, null
        from moves m join move_segments s on s.tenant = m.tenant and s.move_id = m.id and s.role = 'out'
        where m.state in ('copied', 'verified') and s.sha256 is not null
        union all
        select p.tenant, p.object_key, p.size_bytes, p.sha256, null, null, null
        from exports e join export_parts p on p.tenant = e.tenant and p.export_id = e.id
        where e.files_removed_at is null and (e.expires_at is null or e.expires_at > now())
          and p.object_key is not null
      ) objects
      where (tenant, object_key) > (${tenant}, ${key}) order by tenant, object_key limit ${objectsAtOnce}`);
    yield page;
    const last = page.at(-1);
    if (last === undefined || page.length < objectsAtOnce) return;
    ({ tenant, key } = last);
  }
}
