import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import type { Sql } from 'sql-template-tag';
import { longestTimerMillis } from './client.ts';
import type { Connection } from './database.ts';
import { inlineSql } from './sql-text.ts';

/**
 * Streams the rows of a query as PostgreSQL writes CSV: lines end with LF, and NULL is an empty cell without quotes.
 * The columns in `quoted` are always quoted. `dialect` may change the quote and the delimiter. The connection is busy
 * until the rows are `counted`: PostgreSQL tells their number behind the last of them, perhaps in a later packet, when
 * the stream has ended already.
 */
export function copyCsv(
  connection: Pick<Connection, 'client'>,
  query: Sql,
  options: {
    header: boolean;
    quoted: readonly string[];
    dialect?: { readonly quote: string; readonly delimiter: string };
  },
): Copied {
  const { header, quoted, dialect } = options;
  const force = quoted.length === 0 ? '' : `, force_quote (${quoted.join(', ')})`;
  const signs =
    dialect === undefined
      ? ''
      : `, quote ${pg.escapeLiteral(dialect.quote)}, delimiter ${pg.escapeLiteral(dialect.delimiter)}`;
  return startCopy(
    connection,
    `copy (${inlineSql(query)}) to stdout with (format csv, header ${header}${force}${signs})`,
  );
}

/** Whose each row of a table `t` is, as an expression, and what the table is joined with to know; fixed texts. */
export type TableOwner = { readonly owner: string; readonly join: string };

/**
 * Streams a table in PostgreSQL's own text, a line each row, with its owner before it where that is asked for. The
 * connection is busy until the rows are `counted`.
 */
export function copyTable(
  connection: Pick<Connection, 'client'>,
  {
    table,
    columns,
    owned = null,
  }: { table: string; columns: readonly string[]; owned?: TableOwner | null },
): Copied {
  const names = columns.map((column) => pg.escapeIdentifier(column));
  const from = pg.escapeIdentifier(table);
  const source =
    owned === null
      ? `${from} (${names.join(', ')})`
      : `(select ${owned.owner}, ${names.map((name) => `t.${name}`).join(', ')} from ${from} t ${owned.join})`;
  return startCopy(connection, `copy ${source} to stdout`);
}

type Copied = Readable & { counted: Promise<number> };

function startCopy(connection: Pick<Connection, 'client'>, text: string): Copied {
  const copy = copyTo(text, { highWaterMark: 256 * 1024 });
  readAtOnce(copy as unknown as CopyParser);
  // An error event without a listener would end the process, also after the reader of the stream has gone.
  copy.on('error', () => {});
  const timed: TimedQuery = Object.assign(copy, { query_timeout: longestTimerMillis });
  copy.once('close', () => timed.callback?.());
  const counted = new Promise<number>((resolve, reject) => {
    timed.handleReadyForQuery = () => resolve(copy.rowCount);
    copy.once('error', reject);
  });
  // Whoever reads the rows gets this error as well.
  counted.catch(() => {});
  return Object.assign(connection.client.query(copy), { counted });
}

type CopyParser = Readable & {
  /** Takes bytes of the connection. Returns whether more are wanted. */
  _parse: (bytes: Buffer) => boolean | undefined;
};

/** The messages that carry rows, and those that may come between them or before the first. */
const [copyData, copyOutResponse, notice, notification, parameter] = Buffer.from('dHNAS');
const headBytes = 5;

/**
 * Has a COPY take the rows out of what has come by moving them together in place. The package takes each message, which is
 * a row, by itself: 0.2 s for a million. It still gets the messages behind the last row.
 */
function readAtOnce(copy: CopyParser): void {
  const parseEnd = copy._parse.bind(copy);
  let head: Buffer = Buffer.alloc(0);
  let [left, isData] = [0, false];
  copy._parse = (come) => {
    const bytes = head.length === 0 ? come : Buffer.concat([head, come]);
    let [at, kept] = [0, 0];
    for (;;) {
      const until = Math.min(at + left, bytes.length);
      if (isData) {
        bytes.copyWithin(kept, at, until);
        kept += until - at;
      }
      left -= until - at;
      at = until;
      if (bytes.length - at < headBytes) break;
      const code = bytes[at];
      isData = code === copyData;
      if (
        !isData &&
        code !== copyOutResponse &&
        code !== notice &&
        code !== notification &&
        code !== parameter
      ) {
        if (kept > 0) copy.push(bytes.subarray(0, kept));
        return parseEnd(bytes.subarray(at));
      }
      left = bytes.readUInt32BE(at + 1) - (headBytes - 1);
      at += headBytes;
    }
    head = bytes.subarray(at);
    return kept === 0 || copy.push(bytes.subarray(0, kept));
  };
}

/**
 * The client gives up on a statement that takes longer than its `query_timeout`, and it never learns that a COPY has
 * ended: a large export would fail at that time. Calling the callback that the client stores here ends its timer.
 */
type TimedQuery = {
  query_timeout: number;
  callback?: () => void;
  /** The client calls it when the statement is over. */
  handleReadyForQuery?: () => void;
};

/** Stores rows of `copyTable`, in any time; returns how many. A table that this transaction emptied can freeze them. */
export async function copyIntoTable(
  connection: Pick<Connection, 'client'>,
  { table, columns, isFrozen = false }: CopyTarget,
  rows: AsyncIterable<Buffer>,
  signal: AbortSignal,
): Promise<number> {
  const names = columns.map((column) => pg.escapeIdentifier(column)).join(', ');
  const copy = copyFrom(
    `copy ${pg.escapeIdentifier(table)} (${names}) from stdin with (freeze ${isFrozen})`,
  );
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

type CopyTarget = {
  readonly table: string;
  readonly columns: readonly string[];
  readonly isFrozen?: boolean;
};
