import { readRows } from '../encode/both-tiers.ts';
import { type Cell, dialects, lineOf } from '../encode/csv-cells.ts';
import { pickJson, planColumns, reEncodeRows } from '../encode/re-encode.ts';
import { isOwnColumn, jsonKindOf } from '../encode/rows.ts';
import { createFiller, fillerColumns, skippedOf } from '../typed/fill-row.ts';
import { sumCounts } from '../typed/row-counter.ts';
import { misfitsOf } from '../typed/take-row.ts';
import { readTemplate } from '../typed/template.ts';
import { fileExtension, type LineTemplate } from '../values.ts';
import type { FileFormat, FileOptions } from './format.ts';
import { magic } from './parquet/footer.ts';
import { openParquet, parquetTail, proveParquet } from './parquet/parquet.ts';
import { proofOf, proveCsv, proveNdjson } from './prove.ts';
import { type OpenRows, startBody } from './start-body.ts';

/** The format of a file; see `FileFormat`. */
export function createFormat(options: FileOptions): FileFormat {
  const { openRows, ...form } = createForm(options);
  return {
    ...form,
    proof: proofOf(options),
    startBody: (source, slice, more) => startBody(source, slice, { ...more, openRows }),
  };
}

/** What only this format has of a `FileFormat`, and how it encodes rows. */
type Form = Omit<FileFormat, 'proof' | 'startBody'> & { readonly openRows: OpenRows };

function createForm(options: FileOptions): Form {
  switch (options.format) {
    case 'csv':
      return csv(options);
    case 'ndjson':
      return ndjson(options);
    case 'parquet':
      return parquet(options);
  }
}

/**
 * CSV in either profile. What the tiers write already is machine CSV, so only field paths and the spreadsheet profile
 * are re-encoded.
 */
function csv(options: FileOptions): Form {
  const { columns, profile } = options;
  const plan = planColumns(columns);
  const dialect = dialects[profile];
  const isPlain = profile === 'machine' && !plan.hasPaths;
  return {
    ...textForm('text/csv; charset=utf-8', options),
    head: csvHead(options),
    async openRows(snapshot) {
      const rows = await readRows(snapshot, { kind: 'csv', columns: plan.source });
      if (isPlain) return rows;
      return reEncodeRows(rows, plan, (cells) => lineOf(cells, dialect));
    },
    prove: (duckdb, written) => proveCsv(duckdb, written, options),
  };
}

/** What comes before the rows: the byte order mark of the profile, if any, and the header, if it is wanted. */
function csvHead({ columns, header, profile }: FileOptions): Buffer {
  const names = columns.map((name) => ({ text: name, isText: /[",\r\n]/.test(name) }));
  const dialect = dialects[profile];
  return Buffer.from(dialect.start + (header ? lineOf(names, dialect) : ''));
}

/**
 * NDJSON: one JSON object a line, without the members that have no value. With the columns of a record, in their order,
 * each line is the record as it was sent, which ingest accepts again.
 */
function ndjson(options: FileOptions): Form {
  const { columns, template } = options;
  if (template !== undefined) return templated(options, template);
  const plan = planColumns(columns, pickJson);
  return {
    ...textForm('application/x-ndjson', options),
    async openRows(snapshot) {
      const kind = plan.hasPaths ? 'csv' : 'json';
      const rows = await readRows(snapshot, { kind, columns: plan.source });
      return plan.hasPaths ? reEncodeRows(rows, plan, lineEncoder(columns)) : rows;
    },
    prove: (duckdb, written) => proveNdjson(duckdb, written, options),
  };
}

/** NDJSON whose lines are a template, filled by records. Those that are skipped are rows without a line. */
function templated(options: FileOptions, template: LineTemplate): Form {
  const plan = planColumns(fillerColumns(readTemplate(template.lines).source));
  return {
    ...textForm('application/x-ndjson', options),
    tell: (layouts) => ({ skipped: sumCounts(layouts.map(skippedOf)) }),
    async openRows(snapshot) {
      const { encodeRow, skipped } = createFiller(template);
      const rows = await readRows(snapshot, { kind: 'csv', columns: plan.source });
      const lines = reEncodeRows(rows, plan, encodeRow);
      return Object.assign(lines, { layout: () => ({ skipped: skipped() }) });
    },
    async prove(duckdb, written) {
      const { rows: skipped } = skippedOf(written.layout);
      // A file without a line cannot be read.
      if (written.rows === skipped) return { rows: skipped, digest: null };
      const { rows } = await proveNdjson(duckdb, written, options);
      return { rows: rows + skipped, digest: null };
    },
  };
}

function lineEncoder(columns: readonly string[]): (cells: readonly Cell[]) => string {
  const members = columns.map((name) => ({
    key: `${JSON.stringify(name)}:`,
    // The value of a field path is JSON text already, as it is spelled in the source.
    isRaw: !isOwnColumn(name) || jsonKindOf(name) === 'raw',
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

/** What files of text have in common: they may be compressed as a whole, and nothing stands around their rows. */
function textForm(plain: string, { format, compression }: FileOptions) {
  const nothing = Buffer.alloc(0);
  return {
    head: nothing,
    tail: () => nothing,
    mediaType: compression === 'none' ? plain : `application/${compression}`,
    extension: fileExtension(format, compression),
  };
}

/** One Parquet file with zstd inside. Its parts are row groups, and its tail is the footer. */
function parquet(options: FileOptions): Form {
  return {
    mediaType: 'application/vnd.apache.parquet',
    extension: '.parquet',
    head: magic,
    tail: (parts) => parquetTail(parts, options),
    ...(options.fields && { tell: (layouts) => ({ misfits: sumCounts(layouts.map(misfitsOf)) }) }),
    openRows: (snapshot) => openParquet(snapshot, options),
    prove: (duckdb, written) => proveParquet(duckdb, written, options),
  };
}
