import sql, { raw } from 'sql-template-tag';
import type { ListedTable } from '../../platform/jobs/listed-queries.ts';
import { isInReach } from '../../platform/jobs/queries.ts';
import { type Connection, onlyRow, type Queryable } from '../../platform/postgres/database.ts';
import { instantText } from '../../platform/postgres/sql-text.ts';
import type { ImportJob, ImportReport, ImportStart } from '../import-job.contract.ts';

/** An import as it is stored. */
export type StoredImport = ImportJob & {
  readonly token_id: string;
  readonly tenant: string | null;
};

/** Whether the command of an import is gone, as far as anybody knows. It tells every ten seconds how far it is. */
const isSilent = sql`(j.finished_at is null
  and (j.stopped is not null or j.heard_at < now() - interval '1 minute'))`;
const state = sql`case when ${isSilent} then 'paused' else j.state end`;
const error = sql`case when ${isSilent} then 'Its command '
  || coalesce('stopped (' || j.stopped || ')', 'has not been heard of for a minute')
  || '. Run it again on the same files: it goes on from there.' end`;
const total = sql`case when j.total is not null then greatest(j.total, j.rows) end`;
// Rows may be stored before they are done, so only in the end both say the same.
const known = sql`case when j.state = 'completed' then greatest(0, j.taken - j.stored - j.cold) end`;
const counts = raw('j.sent, j.rejected, j.conflicts, j.stored, j.cold, j.cold_days');
const columns = sql`j.id, ${state} as state, j.tenant, j.token_id, j.files, ${total} as total, j.at_file, j.at_row,
  j.rows, j.taken, ${counts}, ${known} as known, j.requested_by, ${instantText('j.requested_at')} as requested_at,
  ${instantText('j.finished_at')} as finished_at, ${error} as error`;

/** Where the list of all jobs finds imports. */
export const listedImports: ListedTable = {
  name: 'record_imports',
  isInReach,
  requestedBy: raw('j.requested_by'),
  state,
  requestedAt: 'requested_at',
  startedAt: 'requested_at',
  finishedAt: 'finished_at',
  done: raw('j.rows'),
  total,
  error,
  told: sql`json_build_object('files', j.files, 'at_file', j.at_file, 'sent', j.sent, 'rejected', j.rejected,
    'conflicts', j.conflicts, 'stored', j.stored, 'cold', j.cold, 'cold_days', j.cold_days, 'known', ${known})`,
};

/** Begins an import, or finds the one of this digest that has not ended. */
export async function startImport(
  db: Queryable,
  job: ImportStart & {
    readonly id: string;
    readonly tenants: readonly string[] | null;
    readonly requestedBy: string;
    readonly tokenId: string;
  },
): Promise<StoredImport> {
  const { tenants } = job;
  const rows = await db.query<StoredImport>(sql`
    insert into record_imports as j (id, digest, tenant, tenants, requested_by, token_id, files, total)
    values (${job.id}, ${job.digest}, ${tenants?.length === 1 ? tenants[0] : null}, ${tenants}, ${job.requestedBy},
      ${job.tokenId}, ${job.files}, ${job.total})
    on conflict (digest) where finished_at is null
    do update set heard_at = clock_timestamp(), stopped = null
    returning ${columns}`);
  return onlyRow(rows);
}

/** Finds an import that concerns only tenants in reach. */
export async function findImport(
  db: Queryable,
  id: string,
  reach: readonly string[] | null,
): Promise<StoredImport | undefined> {
  const rows = await db.query<StoredImport>(sql`
    select ${columns} from record_imports j where j.id = ${id} and ${isInReach(reach)}`);
  return rows[0];
}

/** Notes that the command of an import was heard of, or why it stops, unless the import has ended. */
export async function noteHeard(
  connection: Connection,
  id: string,
  stopped: string | null,
): Promise<void> {
  await connection.query(sql`
    update record_imports set heard_at = clock_timestamp(), stopped = ${stopped}
    where id = ${id} and finished_at is null`);
}

/** Notes how far an import is, and ends it if that is all, unless it has ended or is further by now. */
export async function noteReached(
  connection: Connection,
  id: string,
  { at_file: file, at_row: row, ...report }: ImportReport,
): Promise<void> {
  const end = sql`, state = 'completed', finished_at = clock_timestamp()`;
  await connection.query(sql`
    update record_imports set at_file = ${file}, at_row = ${row}, rows = ${report.rows}, sent = ${report.sent},
      taken = ${report.taken}, rejected = ${report.rejected}, conflicts = ${report.conflicts}
      ${report.state === 'completed' ? end : raw('')}
    where id = ${id} and finished_at is null and (at_file, at_row) <= (${file}::integer, ${row}::bigint)`);
}

/**
 * Counts records in the transaction that stores them; `coldDays` where they become cold at once. Answers false when the
 * import has ended: then nothing of it may be stored. All other locks come before that of its row, so that nobody who
 * waits for it is waited for.
 */
export async function addStored(
  connection: Connection,
  id: string,
  { count, coldDays }: { count: number; coldDays?: number },
): Promise<boolean> {
  const added =
    coldDays === undefined
      ? sql`stored = stored + ${count}`
      : sql`cold = cold + ${count}, cold_days = cold_days + ${coldDays}`;
  const rows = await connection.query(sql`
    update record_imports set ${added} where id = ${id} and finished_at is null returning id`);
  return rows.length === 1;
}

/** Ends an import that has not ended. Answers whether it did. */
export async function cancelImport(connection: Connection, id: string): Promise<boolean> {
  const rows = await connection.query(sql`
    update record_imports set state = 'cancelled', finished_at = clock_timestamp()
    where id = ${id} and finished_at is null returning id`);
  return rows.length === 1;
}

/** Deletes imports of which nothing was heard for as long as exports are told. */
export async function pruneImports(db: Queryable): Promise<void> {
  await db.query(sql`delete from record_imports where heard_at < now() - interval '90 days'`);
}
