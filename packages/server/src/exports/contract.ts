import { type Static, Type } from 'typebox';
import { routesUnder } from '../platform/http/contract.ts';
import {
  exactly,
  instantSchema,
  labelSchema,
  nullable,
  oneOf,
  optional,
  problem,
  tenantSchema,
} from '../platform/http/schemas.contract.ts';
import { sliceProperties, whereSchema } from '../records/contract.ts';
import { datasetNames, splitNames } from '../records/values.ts';
import { exportJobSchema, foundSchema, rowCountsSchema } from './jobs.contract.ts';
import {
  compressions,
  exportColumns,
  exportFormats,
  fileTypes,
  missingRules,
  profiles,
  sheetLimits,
  templateNames,
} from './values.ts';

const columnSchema = Type.String({
  maxLength: 500,
  pattern: `^(${exportColumns.join('|')}|enrichment(\\.[^.\\u0000\\ud800-\\udfff]+)+)$`,
  description: `one of ${exportColumns.join(', ')}, or a path such as enrichment.origin.iata`,
});

/** The fields that select the records of an export, in a query or a body. */
const selectionProperties = {
  ...sliceProperties,
  tenant: tenantSchema,
  kind: Type.Optional(labelSchema),
  dataset: Type.Optional(oneOf(datasetNames)),
  version: optional.string({
    maxLength: 100,
    description: 'id of a dataset version: its records; excludes store, days, kind and dataset',
  }),
  split: Type.Optional(
    oneOf(
      splitNames,
      'only this part of the version; needs `version`. Of a version with groups it goes with Prefer: respond-async',
    ),
  ),
};

const bodyProperties = {
  ...selectionProperties,
  where: Type.Optional({
    ...whereSchema,
    description: `${whereSchema.description}. It goes with Prefer: respond-async, also with a version`,
  }),
  columns: Type.Optional(
    Type.Array(columnSchema, { minItems: 1, maxItems: 100, uniqueItems: true }),
  ),
  delivery: Type.Optional(
    oneOf(
      ['stream', 'link'],
      'link: answers 201 with a one-use link, so that a browser downloads by itself',
    ),
  ),
};
/** A template for the lines of NDJSON: its name, or itself. */
export const templateSchema = (howToAsk: string) =>
  Type.Union([oneOf(templateNames), Type.Object({}, { additionalProperties: true })], {
    description: `each line is this JSON object, whose texts have references such as {{prompt}} into the record: docs/templates.md. A name stands for a template of ours. ${howToAsk}`,
  });
const template = templateSchema('It goes with Prefer: respond-async, and without columns');
const compression = Type.Optional(
  oneOf(compressions, 'of the file itself; a stream is also gzip-coded by Accept-Encoding'),
);

/** The body of `POST /exports/csv`. */
export const csvRequestSchema = exactly({
  ...bodyProperties,
  compression,
  header: optional.boolean({ default: true }),
  profile: Type.Optional(
    oneOf(
      profiles,
      'machine (default): exact round trip, LF, text always quoted, NULL is nothing at all. spreadsheet: BOM, CRLF, cells with a semicolon quoted, and those that a spreadsheet would run as a formula with a leading apostrophe.',
    ),
  ),
});
export const ndjsonRequestSchema = exactly({
  ...bodyProperties,
  compression,
  template: Type.Optional(template),
  missing: Type.Optional(
    oneOf(
      missingRules,
      'a record that has no value for a reference: refuse (default) fails the job, skip leaves it out and counts it; needs `template`',
    ),
  ),
});
const parquetRequestSchema = exactly({
  ...bodyProperties,
  typed: optional.boolean({
    description:
      'the fields of the enrichment as columns of their types, by the schema of GET /exports/schema, and what fits none of them in `_rest` as JSON; goes with Prefer: respond-async',
  }),
});

/** The body of `POST /exports/bundle`. */
const bundleRequestSchema = exactly({
  tenant: tenantSchema,
  version: Type.String({ maxLength: 100, description: 'id of the dataset version' }),
});

type CsvRequest = Static<typeof csvRequestSchema>;
/** The body of an export of any format. No format has all of these fields. */
export type ExportRequest = CsvRequest &
  Pick<Static<typeof parquetRequestSchema>, 'typed'> &
  Pick<Static<typeof ndjsonRequestSchema>, 'template' | 'missing'>;

export const templatePreviewSchema = Type.Object({
  line: nullable(Type.String({ description: 'null: none of these records makes one' })),
  record: nullable(
    Type.Object(
      { store: Type.String(), occurred_at: instantSchema, event_id: Type.String() },
      { description: 'of which the line is made' },
    ),
  ),
  looked: Type.Integer({ description: 'records that were looked at, 20 at most' }),
  skipped: rowCountsSchema('how many of these have no line, and by which reference'),
});

export const linesPreviewSchema = Type.Object({
  head: Type.String({ description: 'what comes before the rows, such as the header of CSV' }),
  lines: Type.Array(Type.String(), {
    maxItems: 3,
    description: 'the first rows with their ends; those of Parquet as JSON',
  }),
});

/** Rows and bytes of a slice, and the size of the file in each format, in bytes. */
export const estimateSchema = Type.Object({
  rows: Type.Integer(),
  bytes: Type.Integer(),
  files: Type.Object({
    csv: Type.Integer({ description: 'from a sample of its records' }),
    ndjson: Type.Integer({ description: 'exact' }),
    parquet: Type.Integer({ description: 'as cold records take, or a twentieth' }),
  }),
  long_records: nullable(
    Type.Integer({
      description: `records of more than ${sheetLimits.cellCharacters} bytes, with the profile spreadsheet; null without it, and when a sheet has too few rows anyway`,
    }),
  ),
});

const linkSchema = Type.Object({
  url: Type.String({ description: 'a path, or with SVC_PUBLIC_URL a whole URL' }),
  expires_at: instantSchema,
  row_count: Type.Integer(),
});

const preferAsync =
  'With the header `Prefer: respond-async`: 202 and a job, which works at any size, survives restarts and proves its file; see GET /exports/:id.';

const queuedJob = (description: string) => ({
  description,
  schema: exportJobSchema,
  headers: { Location: 'Where to follow the job.' },
});

function exportResponses(mediaType: readonly string[]) {
  return {
    200: {
      description: 'The file.',
      mediaType,
      schema: Type.String(),
      headers: {
        'X-Record-Count': 'Rows that follow, without the header.',
        'Content-Disposition': 'A telling file name.',
        Trailer: 'Repr-Digest: sha-256 of the file before any content coding.',
      },
    },
    201: {
      description: 'With `delivery: link`: where to download it, once, within ten minutes.',
      schema: linkSchema,
    },
    202: queuedJob('With `Prefer: respond-async`: the job, queued.'),
    404: problem,
    409: problem,
  } as const;
}

/** The routes of streamed exports. The server checks requests by them, and docs/http-api.md is made from them. */
export const exportsContract = routesUnder('Exports', {
  estimateExport: {
    route: 'GET /exports/estimate',
    summary: 'How much a slice is',
    description:
      'Rows and bytes are exact, from the counters, unless `kind` makes it count. `files` tells about how large the file of each format gets with the default columns.',
    scope: 'analytics:read',
    stores: 'named',
    query: exactly({
      ...selectionProperties,
      profile: Type.Optional(
        oneOf(
          profiles,
          'spreadsheet: also counts what its cells would cut, by reading the records',
        ),
      ),
    }),
    responses: {
      200: {
        description: 'Rows of the export, and bytes of its records as NDJSON.',
        schema: estimateSchema,
      },
      404: problem,
    },
  },
  inferSchema: {
    route: 'GET /exports/schema',
    summary: 'Which columns a typed export has',
    description:
      'Inferred from a sample of the records. A job keeps its own; a dataset version keeps the one of its first typed export for all later ones.',
    scope: 'analytics:read',
    stores: 'named',
    query: exactly(selectionProperties),
    responses: {
      200: { description: 'The columns in their order.', schema: foundSchema },
      404: problem,
    },
  },
  previewTemplate: {
    route: 'POST /exports/ndjson/preview',
    summary: 'The first line that a template makes',
    description:
      'Of a few records from both ends of the slice; with filters there may be none among them. A job may find records that these do not tell of. Without a chosen split, `train` stands for that of each record.',
    scope: 'analytics:read',
    stores: 'named',
    body: exactly({ ...selectionProperties, where: bodyProperties.where, template }),
    responses: { 200: { description: 'The line.', schema: templatePreviewSchema }, 404: problem },
  },
  previewExport: {
    route: 'POST /exports/preview',
    summary: 'How a file begins',
    description:
      'Its first three rows, before compression. With filters there may be none among the records that are looked at. Without a chosen split, `train` stands for that of each record.',
    scope: 'analytics:read',
    stores: 'named',
    body: exactly({
      ...selectionProperties,
      where: bodyProperties.where,
      columns: bodyProperties.columns,

      header: csvRequestSchema.properties.header,
      profile: csvRequestSchema.properties.profile,
      format: oneOf(exportFormats),
    }),
    responses: { 200: { description: 'The beginning.', schema: linesPreviewSchema }, 404: problem },
  },
  downloadExport: {
    route: 'GET /exports/links/:code',
    summary: 'Download by a one-use link',
    description: 'The link is the key: no token is sent. It works once, until it expires.',
    scope: null,
    responses: {
      200: { description: 'The file.', mediaType: fileTypes.any, schema: Type.String() },
      401: {
        ...problem,
        description: 'No link has this code, or it was used before, or has expired.',
      },
      404: problem,
      409: problem,
    },
  },
  exportCsv: {
    route: 'POST /exports/csv',
    summary: 'Export a slice of records as CSV',
    description: `Streamed from one snapshot in key order: as many rows as X-Record-Count says, which is the count of the leaf. A stream that fails mid-way resets the connection, so that a cut file cannot look whole; the trailer Repr-Digest proves the bytes. ${preferAsync}`,
    scope: 'analytics:read',
    stores: 'named',
    body: csvRequestSchema,
    responses: exportResponses(fileTypes.csv),
  },
  exportNdjson: {
    route: 'POST /exports/ndjson',
    summary: 'Export a slice of records as NDJSON',
    description: `As CSV is exported. By default each line is the record as it was sent, to the letter, which ingest takes again; columns without a value are left out. ${preferAsync}`,
    scope: 'analytics:read',
    stores: 'named',
    body: ndjsonRequestSchema,
    responses: exportResponses(fileTypes.ndjson),
  },
  exportParquet: {
    route: 'POST /exports/parquet',
    summary: 'Export a slice of records as Parquet',
    description: `As CSV is exported: one file, zstd inside, in key order. Times are UTC timestamps to the microsecond, \`bytes\` an integer, everything else text to the letter, \`confidence\` too. ${preferAsync}`,
    scope: 'analytics:read',
    stores: 'named',
    body: parquetRequestSchema,
    responses: exportResponses(fileTypes.parquet),
  },
  exportBundle: {
    route: 'POST /exports/bundle',
    summary: 'Bundle a dataset version for training',
    description:
      'A job, whatever is preferred. Its file is a tar of what datasets.load_dataset takes as it is: typed Parquet of each split, its manifest, statistics of the columns, a dataset card, and last SHA256SUMS, without which it is cut. Each split has what was frozen, or the job fails with `version_changed`.',
    scope: 'analytics:read',
    body: bundleRequestSchema,
    responses: { 202: queuedJob('The job, queued.'), 404: problem, 409: problem },
  },
});
