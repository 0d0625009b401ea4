import { readRows } from '../encode/both-tiers.ts';
import { type Cell, dialects } from '../encode/csv-cells.ts';
import { createReEncoder, csvHead, planColumns, reEncodeRows } from '../encode/re-encode.ts';
import { compressedName, type FileFormat, type FileOptions } from './format.ts';
import { proofOf, proveCsv } from './prove.ts';
import { startBody } from './start-body.ts';

/**
 * CSV in either profile. What the tiers write already is machine CSV, so only field paths and the spreadsheet profile
 * are re-encoded.
 */
export function createCsvFormat(options: FileOptions): FileFormat {
  const { columns, profile, compression } = options;
  const plan = planColumns(columns);
  const dialect = dialects[profile];
  const isPlain = profile === 'machine' && !plan.hasPaths;
  return {
    ...compressedName('text/csv; charset=utf-8', 'csv', compression),
    head: csvHead(columns, options),
    tail: () => Buffer.alloc(0),
    startBody: (source, slice, bodyOptions) =>
      startBody(source, slice, {
        ...bodyOptions,
        form: {
          async openRows(snapshot, isHot) {
            const rows = await readRows(snapshot, { kind: 'csv', columns: plan.source }, isHot);
            if (isPlain) return rows;
            const encodeRow = (cells: readonly Cell[]) =>
              cells.map(dialect.encode).join(',') + dialect.lineEnd;
            return reEncodeRows(rows, createReEncoder(plan, encodeRow));
          },
          layout: () => null,
        },
      }),
    proof: proofOf(options),
    prove: (duckdb, written) => proveCsv(duckdb, written, options),
  };
}
