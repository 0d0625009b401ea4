import { join } from 'node:path';
import sql from 'sql-template-tag';
import { testActor } from '../../../../test/actor.ts';
import { useFolder } from '../../../../test/folder.ts';
import { createDayImporter } from '../import-days.ts';
import type { MoverContext } from '../move.ts';
import type { TestMover } from './test-mover.ts';

export const importedDays = ['2001-03-01', '2001-03-02'] as const;

/** SQL of typed rows: two stores, two days, five rows of each. */
export const rowsOf = (tenant: string, replace = '', source = 'range(20) r(n)') => `
  select * ${replace} from (
    select '${tenant}' as tenant, if(n < 10, 'DFW', 'ORD') as store, 'e-' || n as event_id,
      ('2001-03-0' || (1 + n % 10 // 5) || ' 00:00:0' || n % 10)::timestamptz as occurred_at,
      if(n % 3 = 0, null, 'tag') as kind, 'vision' as source, null::varchar as model, '0.10' as confidence,
      {'n': n, 'text': 'é "quoted"', 'list': [{'x': n / 4}, null]} as keys
    from ${source})`;

/** Imports of rows that SQL selects, in a folder for all tests of a file. */
export function useDayImports(mover: TestMover) {
  const folder = useFolder();

  /** Writes rows as an upload. */
  async function upload(rows: string): Promise<string> {
    const path = join(folder.path, 'upload.parquet');
    await mover.duckdb.run(`copy (${rows}) to '${path}' (format parquet)`);
    return path;
  }

  return {
    folder,
    upload,
    /** Begins an import that days may belong to. */
    beginImport: (id: string) =>
      mover.db.query(sql`
        insert into record_imports (id, digest, requested_by, token_id, files) values (${id}, ${id}, 'me', 'tok', 1)`),
    /** What an import counts of the days that became cold at once. */
    countsOf: (id: string) =>
      mover.db.query(sql`select cold, cold_days from record_imports where id = ${id}`),
    importRows: async (
      tenant: string,
      rows: string,
      more: Partial<MoverContext> = {},
      ofImport: { import?: string } = {},
    ) => {
      const path = await upload(rows);
      const importer = createDayImporter({
        ...mover.context(more),
        maxEnrichmentBytes: 1000,
        lockMillis: 2000,
      });
      try {
        return await importer.take(testActor, { tenant, ...ofImport }, path);
      } finally {
        await importer.stop();
      }
    },
    countOf: async (tenant: string): Promise<number> => {
      const rows = await mover.db.query<{ count: number }>(
        sql`select count from leaf_tenants where tenant = ${tenant}`,
      );
      return rows[0]?.count ?? 0;
    },
  };
}
