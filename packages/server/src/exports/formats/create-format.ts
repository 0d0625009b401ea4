import { readRows } from '../encode/both-tiers.ts';
import { type Cell, dialects } from '../encode/csv-cells.ts';
import {
  createReEncoder,
  csvHead,
  pickJson,
  planColumns,
  reEncodeRows,
} from '../encode/re-encode.ts';
import { isOwnColumn, jsonKinds } from '../encode/rows.ts';
import { type Compression, fileExtension } from '../values.ts';
import type { FileFormat, FileOptions } from './format.ts';
import { createParquetFormat } from './parquet/parquet.ts';
import { proofOf, proveCsv, proveNdjson } from './prove.ts';
import { startBody } from './start-body.ts';

/** The format of a file; see `FileFormat`. */
export function createFormat(options: FileOptions): FileFormat {
  switch (options.format) {
    case 'csv':
      return createCsvFormat(options);
    case 'ndjson':
      return createNdjsonFormat(options);
    case 'parquet':
      return createParquetFormat(options);
  }
}

/**
 * CSV in either profile. What the tiers write already is machine CSV, so only field paths and the spreadsheet profile
 * are re-encoded.
 */
function createCsvFormat(options: FileOptions): FileFormat {
  const { columns, profile, compression } = options;
  const plan = planColumns(columns);
  const dialect = dialects[profile];
  const isPlain = profile === 'machine' && !plan.hasPaths;
  return {
    mediaType: mediaTypeOf('text/csv; charset=utf-8', compression),
    extension: fileExtension('csv', compression),
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

/**
 * NDJSON: one JSON object a line, without the members that have no value. With the columns of a record, in their order,
 * each line is the record as it was sent, which ingest accepts again.
 */
function createNdjsonFormat(options: FileOptions): FileFormat {
  const { columns, compression } = options;
  const plan = planColumns(columns, pickJson);
  return {
    mediaType: mediaTypeOf('application/x-ndjson', compression),
    extension: fileExtension('ndjson', compression),
    head: Buffer.alloc(0),
    tail: () => Buffer.alloc(0),
    startBody: (source, slice, bodyOptions) =>
      startBody(source, slice, {
        ...bodyOptions,
        form: {
          async openRows(snapshot, isHot) {
            if (!plan.hasPaths) {
              return readRows(snapshot, { kind: 'json', columns: plan.source }, isHot);
            }
            const rows = await readRows(snapshot, { kind: 'csv', columns: plan.source }, isHot);
            return reEncodeRows(rows, createReEncoder(plan, lineEncoder(columns)));
          },
          layout: () => null,
        },
      }),
    proof: proofOf(options),
    prove: (duckdb, written) => proveNdjson(duckdb, written, options),
  };
}

function lineEncoder(columns: readonly string[]): (cells: readonly Cell[]) => string {
  const members = columns.map((name) => ({
    key: `${JSON.stringify(name)}:`,
    // The value of a field path is JSON text already, as it is spelled in the source.
    isRaw: !isOwnColumn(name) || jsonKinds[name] === 'raw',
  }));
  return (cells) => {
    let text = '';
    members.forEach(({ key, isRaw }, at) => {
      const cell = cells[at] ?? null;
      if (cell === null) return;
      text += `${text === '' ? '' : ','}${key}${isRaw ? cell.text : JSON.stringify(cell.text)}`;
    });
    return `{${text}}\n`;
  };
}

/** The media type of a file that may be compressed as a whole. */
function mediaTypeOf(plain: string, compression: Compression): string {
  return compression === 'none' ? plain : `application/${compression}`;
}
