import { readRows } from '../encode/both-tiers.ts';
import { planColumns, reEncodeRows } from '../encode/re-encode.ts';
import { createFiller, fillerColumns, skippedOf } from '../typed/fill-row.ts';
import { sumCounts } from '../typed/row-counter.ts';
import { misfitsOf } from '../typed/take-row.ts';
import { readTemplate } from '../typed/template.ts';
import { type ExportFormat, fileExtension, type JobFormat, type LineTemplate } from '../values.ts';
import type { FileFormat, FileOptions } from './format.ts';
import { createLineWriter } from './line-writer.ts';
import { magic } from './parquet/footer.ts';
import { openParquet, parquetTail, proveParquet } from './parquet/parquet.ts';
import { proofOf, proveCsv, proveNdjson } from './prove.ts';
import { type OpenRows, startBody } from './start-body.ts';

/** The format of a file; see `FileFormat`. */
export function createFormat(options: FileOptions): FileFormat {
  const { openRows, ...form } = forms[options.format](options);
  return {
    ...form,
    proof: proofOf(options),
    startBody: (source, slice, more) => startBody(source, slice, { ...more, openRows }),
  };
}

/** What only this format has of a `FileFormat`, and how it encodes rows. */
type Form = Omit<FileFormat, 'proof' | 'startBody'> & { readonly openRows: OpenRows };

const forms: Readonly<Record<JobFormat, (options: FileOptions) => Form>> = {
  csv,
  ndjson,
  parquet,
  // The parts of a bundle are those of its files of Parquet.
  bundle: (options) => ({ ...parquet(options), mediaType: 'application/x-tar', extension: '.tar' }),
};

/** CSV in either profile. The tiers write machine CSV; only for field paths and the other profile cells are re-encoded. */
function csv(options: FileOptions): Form {
  const { plan, head, encodeRow } = createLineWriter(options);
  const isPlain = options.profile === 'machine' && !plan.hasPaths;
  return {
    ...textForm('text/csv; charset=utf-8', 'csv', options),
    head: Buffer.from(head),
    async openRows(snapshot) {
      const kind = isPlain ? 'csv' : 'cells';
      const rows = await readRows(snapshot, { kind, columns: plan.source });
      return isPlain ? rows : reEncodeRows(rows, plan, encodeRow);
    },
    prove: (duckdb, written) => proveCsv(duckdb, written, options),
  };
}

/** NDJSON, without members that have no value. With the columns of a record its lines can be ingested again. */
function ndjson(options: FileOptions): Form {
  const { template } = options;
  if (template !== undefined) return templated(options, template);
  const { plan, encodeRow } = createLineWriter(options);
  return {
    ...textForm('application/x-ndjson', 'ndjson', options),
    async openRows(snapshot) {
      const kind = plan.hasPaths ? 'cells' : 'json';
      const rows = await readRows(snapshot, { kind, columns: plan.source });
      return plan.hasPaths ? reEncodeRows(rows, plan, encodeRow) : rows;
    },
    prove: (duckdb, written) => proveNdjson(duckdb, written, options),
  };
}

/** NDJSON whose lines are a template, filled by records. Those that are skipped are rows without a line. */
function templated(options: FileOptions, template: LineTemplate): Form {
  const plan = planColumns(fillerColumns(readTemplate(template.lines).source));
  return {
    ...textForm('application/x-ndjson', 'ndjson', options),
    tell: (layouts) => ({ skipped: sumCounts(layouts.map(skippedOf)) }),
    async openRows(snapshot) {
      const { encodeRow, skipped } = createFiller(template);
      const rows = await readRows(snapshot, { kind: 'cells', columns: plan.source });
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

/** What files of text have in common: they may be compressed as a whole, and nothing stands around their rows. */
function textForm(plain: string, format: ExportFormat, { compression }: FileOptions) {
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
