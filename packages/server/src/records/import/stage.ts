import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatDigest } from '../../kernel/digest.ts';
import { isOutOfMemory, literal } from '../../platform/duckdb.ts';
import type { DuckDbStream } from '../../platform/duckdb-stream.ts';
import type { TypedColumn } from '../../platform/duckdb-types.ts';
import type { DayTriple } from '../segments/segment.ts';
import { segmentOrder } from '../segments/segment-sql.ts';
import { bodyOf, daysSql, isPlainSql, recordsSql, textColumns } from './typed-rows.ts';

/** Rows of a file as typed rows. */
export type TypedSource = {
  /** Their enrichment, with its type. Sources of the same one are staged together. */
  readonly shape: string;
  /** SQL of a range of rows, counted from 0, the end excluded, with their numbers in the column `row`. */
  rows(from: number, until: number): string;
};

/** A range of rows of a file, which has a number among those of its batch. */
export type Stretch = {
  readonly file: number;
  readonly from: number;
  readonly until: number;
  /** Inserts the rows by the function that it is given, and sees that the file does not change meanwhile. */
  fill(insert: (rows: string) => Promise<void>): Promise<void>;
};

/** Days of a store on which rows fall. */
type StagedLeaf = { readonly store: string; readonly days: string[] };

/**
 * The tables of an import between its files and the service. Rows are staged. Those of free days are taken out and written
 * as the service takes them, and those of days that it knows are left out. The numbers of all others are kept: they take
 * the way of ingest.
 * So do all rows for which DuckDB has no memory, because they are so wide.
 */
export type Stage = {
  /** Forgets the rows that were kept. */
  begin(): Promise<void>;
  /** Stages rows in place of those that were staged before. Answers by tenant on which days they fall, if plainly so. */
  fill(stretches: readonly Stretch[]): Promise<Map<string, StagedLeaf[]>>;
  /** Is told which days are free. Answers by tenant what the plain rows of all others are as records, digests in hex. */
  weigh(free: readonly FreeDays[]): Promise<Map<string, DayTriple[]>>;
  /**
   * Takes the rows of free days out of the stage, leaves out those of the days that are known, and keeps the numbers of
   * others. Answers how many rows were taken of each tenant, and how many are known.
   */
  take(known: readonly KnownDays[]): Promise<Taken>;
  /** Writes the rows of a tenant that were taken into a file, in the order of their keys. Answers its path; null without memory. */
  write(tenant: string): Promise<string | null>;
  /** Keeps the numbers of the rows of a tenant that were taken: they are not stored after all. */
  keep(tenant: string): Promise<void>;
  /** How many rows of a file are kept. */
  countRest(file: number): Promise<number>;
  close(): Promise<void>;
};

type FreeDays = { readonly tenant: string; readonly leaves: readonly StagedLeaf[] };
type KnownDays = { readonly tenant: string; readonly days: readonly DayTriple[] };
type Taken = {
  readonly taken: readonly { readonly tenant: string; readonly rows: number }[];
  readonly knownRows: number;
};

/** SQL of the numbers of the rows that are kept of a file. */
export const restSql = (file: number, more = '') =>
  `(select row from rest where file = ${file} ${more})`;

const nothingTaken: Taken = { taken: [], knownRows: 0 };

const columnsOf = (body: string) => [...textColumns, 'occurred_at', body].join(', ');

/** SQL that says of a row of the stage whether it falls on one of these days. */
const isIn = (table: 'free' | 'known') =>
  `(plain and (tenant, store, day) in (select (tenant, store, day) from ${table}))`;

export function createStage(duckdb: DuckDbStream): Stage {
  let dir: string | undefined;
  let columns: readonly TypedColumn[] = [];
  let body = '';
  let files = 0;
  let filled: readonly Stretch[] = [];
  /** Whether all rows that were to be staged are kept. */
  let isKept = false;
  const cells = (query: string) => readCells(duckdb, query);

  const begin = async () => {
    dir ??= await makeDir(duckdb);
    await duckdb.run('create or replace temp table rest (file integer, row bigint)');
  };
  /** Does the work, or else, where there is no memory for it, keeps all rows that were to be staged. */
  const orKeepAll = async <T>(work: () => Promise<T>, nothing: T): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      if (!isOutOfMemory(error)) throw error;
      await duckdb.run('drop table if exists staged; drop table if exists taken');
      await begin();
      isKept = true;
      for (const { file, from, until } of filled) {
        await duckdb.run(`insert into rest select ${file}, range from range(${from}, ${until})`);
      }
      return nothing;
    }
  };

  return {
    begin,
    fill: (stretches) => {
      filled = stretches;
      isKept = false;
      return orKeepAll(async () => {
        let isFirst = true;
        for (const stretch of stretches) {
          await stretch.fill(async (rows) => {
            const into = isFirst ? 'create or replace temp table staged as' : 'insert into staged';
            isFirst = false;
            await duckdb.run(`${into} select ${stretch.file} as file, *, occurred_at::date as day,
            hash(tenant, store, occurred_at, event_id) as key, ${isPlainSql} as plain from (${rows})`);
          });
        }
        columns = await duckdb.describe('select * from staged');
        body = bodyOf(columns)?.name ?? '';
        // Of an event that is there twice, ingest says what it is.
        await duckdb.run(`update staged set plain = false where ${body} is null or key in (
        select key from staged group by key having count(*) > 1)`);
        const leaves = await cells(`
        select tenant, store, string_agg(distinct day::varchar, ',') from staged where plain
        group by tenant, store order by tenant, store`);
        return toTenants(leaves);
      }, new Map());
    },
    weigh: (free) =>
      orKeepAll(async () => {
        if (isKept) return new Map();
        await listDays(duckdb, 'free', free.flatMap(daysOf));
        const others = `(select * from staged where plain and not ${isIn('free')})`;
        const records = recordsSql(others, { columns, maxEnrichmentBytes: 0 });
        return byTenant(await cells(daysSql(records)));
      }, new Map()),
    take: (known) =>
      orKeepAll(async () => {
        if (isKept) return nothingTaken;
        const left = known.flatMap(({ tenant, days }) => days.map((day) => ({ tenant, ...day })));
        await listDays(duckdb, 'known', left.map(dayRow));
        // They are sorted once for all tenants. Of a sorted table only those parts are read that have a tenant.
        await duckdb.run(`create or replace temp table taken as select file, row, ${columnsOf(body)} from staged
        where ${isIn('free')} order by tenant, ${segmentOrder}`);
        await duckdb.run(`insert into rest select file, row from staged
        where not coalesce(${isIn('free')} or ${isIn('known')}, false)`);
        await duckdb.run('drop table staged');
        const counted = await cells('select tenant, count(*)::varchar from taken group by tenant');
        return {
          taken: counted.map(([tenant = '', rows = '0']) => ({ tenant, rows: Number(rows) })),
          knownRows: left.reduce((sum, { count }) => sum + count, 0),
        };
      }, nothingTaken),
    async write(tenant) {
      files += 1;
      dir ??= await makeDir(duckdb);
      const path = join(dir, `${files}.parquet`);
      const own = `select ${columnsOf(body)} from taken where tenant = ${literal(tenant)}`;
      return writeIfMemory(duckdb, own, path);
    },
    keep: (tenant) =>
      duckdb.run(`insert into rest select file, row from taken where tenant = ${literal(tenant)}`),
    async countRest(file) {
      const [[rows = '0'] = []] = await cells(`select count(*)::varchar from ${restSql(file)}`);
      return Number(rows);
    },
    async close() {
      if (dir !== undefined) await rm(dir, { recursive: true, force: true });
    },
  };
}

/** The cells of all rows of a query, of which there are few, as text. */
async function readCells(duckdb: DuckDbStream, query: string): Promise<string[][]> {
  const rows: string[][] = [];
  for await (const { count, columns } of duckdb.rows(query)) {
    for (let row = 0; row < count; row += 1) rows.push(columns.map((cell) => cell[row] ?? ''));
  }
  return rows;
}

function toTenants(leaves: readonly string[][]): Map<string, StagedLeaf[]> {
  const tenants = new Map<string, StagedLeaf[]>();
  for (const [tenant = '', store = '', days = ''] of leaves) {
    const known = tenants.get(tenant) ?? [];
    tenants.set(tenant, [...known, { store, days: days.split(',') }]);
  }
  return tenants;
}

/** The days of a tenant as rows of SQL. */
function daysOf({ tenant, leaves }: FreeDays): string[] {
  return leaves.flatMap(({ store, days }) => days.map((day) => dayRow({ tenant, store, day })));
}

function dayRow({ tenant, store, day }: Record<'tenant' | 'store' | 'day', string>): string {
  return `(${literal(tenant)}, ${literal(store)}, ${literal(day)})`;
}

/** Makes a folder for what DuckDB has no memory for, and for files. */
async function makeDir(duckdb: DuckDbStream): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'svcctl-stage-'));
  await duckdb.run(`set temp_directory = ${literal(join(dir, 'duckdb'))}`);
  return dir;
}

/** So many days are listed by one statement. */
const mostListed = 10_000;

/** Makes a table of days of stores. */
async function listDays(
  duckdb: DuckDbStream,
  table: 'free' | 'known',
  days: readonly string[],
): Promise<void> {
  await duckdb.run(
    `create or replace temp table ${table} (tenant varchar, store varchar, day date)`,
  );
  for (let from = 0; from < days.length; from += mostListed) {
    const some = days.slice(from, from + mostListed).join(', ');
    await duckdb.run(`insert into ${table} values ${some}`);
  }
}

/** What `daysSql` tells of days. */
function byTenant(rows: readonly string[][]): Map<string, DayTriple[]> {
  const tenants = new Map<string, DayTriple[]>();
  for (const [owner = '', name = '', day = '', count, bytes, digest = ''] of rows) {
    const tenant = String(JSON.parse(owner));
    const days = tenants.get(tenant) ?? [];
    days.push({
      store: String(JSON.parse(name)),
      day,
      count: Number(count),
      bytes: Number(bytes),
      digest: formatDigest(BigInt(digest)),
    });
    tenants.set(tenant, days);
  }
  return tenants;
}

/** Writes the rows of a query as Parquet. Answers the path; null without memory for it. */
async function writeIfMemory(
  duckdb: DuckDbStream,
  query: string,
  path: string,
): Promise<string | null> {
  try {
    await duckdb.run(`copy (${query}) to ${literal(path)} (format parquet, row_group_size 20480)`);
    return path;
  } catch (error) {
    if (!isOutOfMemory(error)) throw error;
    await rm(path, { force: true });
    return null;
  }
}
