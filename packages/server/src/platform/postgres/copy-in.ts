import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { longestTimerMillis } from './client.ts';
import type { Connection } from './database.ts';

/** Stores rows as `copyTable` streams them, however long it takes. Returns how many there were. */
export async function copyIntoTable(
  connection: Pick<Connection, 'client'>,
  { table, columns }: { readonly table: string; readonly columns: readonly string[] },
  rows: AsyncIterable<Buffer>,
  signal: AbortSignal,
): Promise<number> {
  const names = columns.map((column) => pg.escapeIdentifier(column)).join(', ');
  const copy = copyFrom(`copy ${pg.escapeIdentifier(table)} (${names}) from stdin`);
  // The listener stays after the pipeline has ended, because an error that nobody listens for ends the process.
  copy.on('error', () => {});
  // The client sets a timer by the first, and stops it when the second is called, which COPY does not do by itself.
  const timed: { query_timeout: number; callback?: () => void } = Object.assign(copy, {
    query_timeout: longestTimerMillis,
  });
  copy.once('close', () => timed.callback?.());
  await pipeline(rows, connection.client.query(copy), { signal });
  return copy.rowCount;
}
