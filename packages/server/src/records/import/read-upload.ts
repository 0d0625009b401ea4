import { isHiddenName, isReservedName } from '../../kernel/names.ts';
import { type DuckDb, DuckDbError } from '../../platform/duckdb.ts';
import {
  isForWantOfSpace,
  type Misplaced,
  misplacedSql,
  parseText,
} from '../segments/read-segment.ts';
import type { DayTriple } from '../segments/segment.ts';
import { readSegments } from '../segments/segment-sql.ts';
import {
  bodyOf,
  columnsFault,
  type DayOfRecords,
  daysSql,
  hasKeyTwice,
  isTextBody,
  keysSql,
  recordsSql,
} from './typed-rows.ts';

/** Typed rows that were uploaded, and found to be new records of one tenant. */
export type Upload = {
  /** SQL of the records in the order of their keys; see `recordsSql`. */
  readonly rows: string;
  /** What they are by store and day, computed from their content. */
  readonly days: readonly DayTriple[];
};

/** Why an upload is none that can be taken, in a sentence. */
export class UploadFault extends Error {}

/** A file holds at most so many days of stores. */
const mostUploadDays = 20_000;

/** The enrichments of a file that are text have at most so many different sets of keys, which are looked at one by one. */
const mostKeySets = 10_000;

const timeoutMillis = 600_000;

/** Reads a whole upload of somebody not trusted: columns, records, names, ascending keys. Throws UploadFault. */
export async function readUpload(
  duckdb: DuckDb,
  options: { tenant: string; path: string; maxEnrichmentBytes: number; signal: AbortSignal },
): Promise<Upload> {
  const { tenant, path, maxEnrichmentBytes, signal } = options;
  try {
    const source = readSegments([path]);
    const described = await duckdb.describe(`select * from ${source}`, { signal });
    const columns = described.filter(({ name }) => name !== 'file_row_number');
    const fault = columnsFault(columns);
    if (fault !== null) throw new UploadFault(fault);
    const rows = recordsSql(source, { columns, maxEnrichmentBytes });
    const body = bodyOf(columns);
    const isText = body !== undefined && isTextBody(body);
    const [days, [misplaced], keySets] = await Promise.all([
      duckdb.run<DayOfRecords>(`${daysSql(rows)} limit ${mostUploadDays + 1}`, {
        signal,
        timeoutMillis,
      }),
      duckdb.run<Misplaced>(misplacedSql(path), { signal, timeoutMillis }),
      isText ? duckdb.run<KeySet>(keySetsSql(source), { signal, timeoutMillis }) : [],
    ]);
    if (misplaced !== undefined) {
      const { store, day } = misplaced;
      throw new UploadFault(
        `its records of store ${parseText(store)} on ${day} do not ascend by store, time and event`,
      );
    }
    if (days.length === 0) throw new UploadFault('it holds no records');
    if (days.length > mostUploadDays) {
      throw new UploadFault(`it holds more than ${mostUploadDays} days of stores`);
    }
    // What is no JSON is refused here, before its keys are read as such.
    const triples = days.map((day) => toTriple(tenant, day));
    if (keySets.length > mostKeySets) {
      throw new UploadFault(`its enrichments have more than ${mostKeySets} different sets of keys`);
    }
    if (keySets.some(({ keys }) => hasKeyTwice(keys))) {
      throw new UploadFault('an object in its enrichments has a key twice');
    }
    return { rows, days: triples };
  } catch (error) {
    if (!(error instanceof DuckDbError) || isForWantOfSpace(error)) throw error;
    throw new UploadFault('it cannot be read as Parquet', { cause: error });
  }
}

type KeySet = { keys: string };

function keySetsSql(source: string): string {
  return `select distinct ${keysSql} as keys from ${source} limit ${mostKeySets + 1}`;
}

function toTriple(tenant: string, row: DayOfRecords): DayTriple {
  const names = [row.tenant, row.store].map(parseText);
  const [owner = '', store = ''] = names;
  if (owner !== tenant) throw new UploadFault(`it holds records of the tenant ${owner}`);
  for (const name of names) {
    if (!isPlainName(name)) throw new UploadFault(`${JSON.stringify(name)} is no name it may hold`);
  }
  if (row.odd !== '0') {
    throw new UploadFault(
      `${row.odd} of its records of store ${store} on ${row.day} are not such as ingest takes as they are`,
    );
  }
  const { day, count, bytes, digest } = row;
  return { store, day, count: Number(count), bytes: Number(bytes), digest };
}

/** Whether a new tenant or store may have this name, and JSON spells it without escapes. */
function isPlainName(name: string): boolean {
  return /^[^\p{Cc}/"\\]{1,128}$/u.test(name) && !isReservedName(name) && !isHiddenName(name);
}
