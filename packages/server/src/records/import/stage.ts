import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { literal } from '../../platform/duckdb.ts';
import type { DuckDbStream } from '../../platform/duckdb-stream.ts';
import { segmentOrder } from '../segments/segment-sql.ts';
import { isPlainSql, textColumns } from './typed-rows.ts';

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
  /** Inserts the rows by the function that it is given, and sees that the file does not change meanwhile. */
  fill(insert: (rows: string) => Promise<void>): Promise<void>;
};

/** Days of a store on which rows fall. */
export type StagedLeaf = { readonly store: string; readonly days: string[] };

/**
 * The tables of an import between its files and the service. Rows are staged, and those of free days are written as the
 * service takes them. The numbers of all others are kept: they take the way of ingest.
 */
export type Stage = {
  /** Forgets the rows that were kept. */
  begin(): Promise<void>;
  /** Stages rows in place of those that were staged before. Answers by tenant on which days they fall, if plainly so. */
  fill(stretches: readonly Stretch[]): Promise<Map<string, StagedLeaf[]>>;
  /**
   * Writes the rows of these days into a file, in the order of their keys. Answers its path and how many rows it has.
   * They count as stored once `noteStored` is called with what this answers.
   */
  write(tenant: string, leaves: readonly StagedLeaf[]): Promise<Written>;
  noteStored(written: Written): Promise<void>;
  /** Removes the file. */
  discard(written: Written): Promise<void>;
  /** Keeps the numbers of all rows that are not stored. */
  keepRest(): Promise<void>;
  /** How many rows of a file are kept. */
  countRest(file: number): Promise<number>;
  close(): Promise<void>;
};

export type Written = { readonly number: number; readonly path: string; readonly rows: number };

/** SQL of the numbers of the rows that are kept of a file. */
export const restSql = (file: number) => `(select row from rest where file = ${file})`;

export function createStage(duckdb: DuckDbStream): Stage {
  let dir: string | undefined;
  let body = '';
  let numbers = 0;
  const makeDir = async () => {
    dir = await mkdtemp(join(tmpdir(), 'svcctl-stage-'));
    await duckdb.run(`set temp_directory = ${literal(join(dir, 'duckdb'))}`);
    return dir;
  };
  const cells = async (query: string) => {
    const rows: string[][] = [];
    for await (const { count, columns } of duckdb.rows(query)) {
      for (let row = 0; row < count; row += 1) rows.push(columns.map((cell) => cell[row] ?? ''));
    }
    return rows;
  };
  const count = async (from: string) =>
    Number((await cells(`select count(*)::varchar from ${from}`))[0]?.[0] ?? 0);

  return {
    async begin() {
      if (dir === undefined) await makeDir();
      await duckdb.run('create or replace temp table rest (file integer, row bigint)');
    },
    async fill(stretches) {
      let isFirst = true;
      for (const stretch of stretches) {
        await stretch.fill(async (rows) => {
          const into = isFirst ? 'create or replace temp table staged as' : 'insert into staged';
          isFirst = false;
          await duckdb.run(`${into} select ${stretch.file} as file, *, occurred_at::date as day, 0 as number,
            hash(tenant, store, occurred_at, event_id) as key, ${isPlainSql} as plain from (${rows})`);
        });
      }
      const columns = await duckdb.describe('select * from staged');
      body = columns.find(({ type }) => type.kind === 'STRUCT')?.name ?? '';
      // Of an event that is there twice, ingest says what it is.
      await duckdb.run(`update staged set plain = false where ${body} is null or key in (
        select key from staged group by key having count(*) > 1)`);
      const leaves = await cells(`
        select tenant, store, string_agg(distinct day::varchar, ',') from staged where plain
        group by tenant, store order by tenant, store`);
      const tenants = new Map<string, StagedLeaf[]>();
      for (const [tenant = '', store = '', days = ''] of leaves) {
        const known = tenants.get(tenant) ?? [];
        tenants.set(tenant, [...known, { store, days: days.split(',') }]);
      }
      return tenants;
    },
    async write(tenant, leaves) {
      numbers += 1;
      const number = numbers;
      const path = join(dir ?? (await makeDir()), `${number}.parquet`);
      const days = leaves.flatMap(({ store, days }) =>
        days.map((day) => `(${literal(store)}, ${literal(day)}::date)`),
      );
      await duckdb.run(`update staged set number = ${number} from (values ${days.join(', ')}) free(store, day)
        where plain and tenant = ${literal(tenant)} and staged.store = free.store and staged.day = free.day`);
      await duckdb.run(`copy (select ${textColumns.join(', ')}, occurred_at, ${body} from staged
        where number = ${number} order by ${segmentOrder}) to ${literal(path)} (format parquet, row_group_size 20480)`);
      return { path, number, rows: await count(`staged where number = ${number}`) };
    },
    noteStored: ({ number }) => duckdb.run(`delete from staged where number = ${number}`),
    async discard({ path }) {
      await rm(path, { force: true });
    },
    async keepRest() {
      await duckdb.run('insert into rest select file, row from staged');
      await duckdb.run('drop table staged');
    },
    countRest: (file) => count(restSql(file)),
    async close() {
      if (dir !== undefined) await rm(dir, { recursive: true, force: true });
    },
  };
}
