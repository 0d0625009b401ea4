import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isOutOfMemory, literal } from '../../platform/duckdb.ts';
import type { DuckDbStream } from '../../platform/duckdb-stream.ts';
import { segmentOrder } from '../segments/segment-sql.ts';
import { bodyOf, isPlainSql, textColumns } from './typed-rows.ts';

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
 * The tables of an import between its files and the service. Rows are staged, and those of free days are taken out and
 * written as the service takes them. The numbers of all others are kept: they take the way of ingest.
 * So do all rows for which DuckDB has no memory, because they are so wide.
 */
export type Stage = {
  /** Forgets the rows that were kept. */
  begin(): Promise<void>;
  /** Stages rows in place of those that were staged before. Answers by tenant on which days they fall, if plainly so. */
  fill(stretches: readonly Stretch[]): Promise<Map<string, StagedLeaf[]>>;
  /** Takes the rows of these days out of the stage, and keeps the numbers of others. Answers the rows by tenant. */
  take(free: readonly FreeDays[]): Promise<{ tenant: string; rows: number }[]>;
  /** Writes the rows of a tenant that were taken into a file, in the order of their keys. Answers its path; null without memory. */
  write(tenant: string): Promise<string | null>;
  /** Keeps the numbers of the rows of a tenant that were taken: they are not stored after all. */
  keep(tenant: string): Promise<void>;
  /** How many rows of a file are kept. */
  countRest(file: number): Promise<number>;
  close(): Promise<void>;
};

type FreeDays = { readonly tenant: string; readonly leaves: readonly StagedLeaf[] };

/** SQL of the numbers of the rows that are kept of a file. */
export const restSql = (file: number, more = '') =>
  `(select row from rest where file = ${file} ${more})`;

const columnsOf = (body: string) => [...textColumns, 'occurred_at', body].join(', ');

export function createStage(duckdb: DuckDbStream): Stage {
  let dir: string | undefined;
  let body = '';
  let files = 0;
  let filled: readonly Stretch[] = [];
  /** Whether all rows that were to be staged are kept. */
  let isKept = false;
  const isTaken = `plain and (tenant, store, day) in (select (tenant, store, day) from free)`;
  const makeDir = async () => {
    dir = await mkdtemp(join(tmpdir(), 'svcctl-stage-'));
    await duckdb.run(`set temp_directory = ${literal(join(dir, 'duckdb'))}`);
    return dir;
  };
  const cells = (query: string) => readCells(duckdb, query);
  const count = async (from: string) =>
    Number((await cells(`select count(*)::varchar from ${from}`))[0]?.[0] ?? 0);

  const begin = async () => {
    if (dir === undefined) await makeDir();
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
        const columns = await duckdb.describe('select * from staged');
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
    take: (free) =>
      orKeepAll(async () => {
        if (isKept) return [];
        await duckdb.run(
          'create or replace temp table free (tenant varchar, store varchar, day date)',
        );
        for (const one of free) {
          const days = daysOf(one);
          if (days.length > 0) await duckdb.run(`insert into free values ${days.join(', ')}`);
        }
        // They are sorted once for all tenants. Of a sorted table only those parts are read that have a tenant.
        await duckdb.run(`create or replace temp table taken as select file, row, ${columnsOf(body)} from staged
        where ${isTaken} order by tenant, ${segmentOrder}`);
        await duckdb.run(
          `insert into rest select file, row from staged where (${isTaken}) is not true`,
        );
        await duckdb.run('drop table staged');
        const counted = await cells('select tenant, count(*)::varchar from taken group by tenant');
        return counted.map(([tenant = '', rows = '0']) => ({ tenant, rows: Number(rows) }));
      }, []),
    async write(tenant) {
      files += 1;
      const path = join(dir ?? (await makeDir()), `${files}.parquet`);
      const own = `select ${columnsOf(body)} from taken where tenant = ${literal(tenant)}`;
      return writeIfMemory(duckdb, own, path);
    },
    keep: (tenant) =>
      duckdb.run(`insert into rest select file, row from taken where tenant = ${literal(tenant)}`),
    countRest: (file) => count(restSql(file)),
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
  return leaves.flatMap(({ store, days }) =>
    days.map((day) => `(${literal(tenant)}, ${literal(store)}, ${literal(day)})`),
  );
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
