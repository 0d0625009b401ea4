import { type Static, Type } from 'typebox';
import type { RouteContract } from '../platform/http/contract.ts';
import {
  instantSchema,
  labelSchema,
  problem,
  tenantSchema,
} from '../platform/http/schemas.contract.ts';
import { datasetNames, sliceProperties } from '../records/contract.ts';

/** The columns of an export, in their order. `enrichment.some.path` may stand beside them. */
export const exportColumns = [
  'tenant',
  'store',
  'month',
  'event_id',
  'occurred_at',
  'recorded_at',
  'kind',
  'source',
  'model',
  'confidence',
  'bytes',
  'datasets',
  'enrichment',
] as const;
export type ExportColumn = (typeof exportColumns)[number];

export const profiles = ['machine', 'spreadsheet'] as const;
export type Profile = (typeof profiles)[number];

const columnSchema = Type.String({
  maxLength: 500,
  pattern: `^(${exportColumns.join('|')}|enrichment(\\.[^.\\u0000\\ud800-\\udfff]+)+)$`,
  description: `one of ${exportColumns.join(', ')}, or a path such as enrichment.origin.iata`,
});

export const csvRequestSchema = Type.Object(
  {
    ...sliceProperties,
    tenant: tenantSchema,
    kind: Type.Optional(labelSchema),
    dataset: Type.Optional(
      Type.Unsafe<(typeof datasetNames)[number]>({ type: 'string', enum: [...datasetNames] }),
    ),
    columns: Type.Optional(
      Type.Array(columnSchema, { minItems: 1, maxItems: 100, uniqueItems: true }),
    ),
    header: Type.Optional(Type.Boolean({ default: true })),
    delivery: Type.Optional(
      Type.Unsafe<'stream' | 'link'>({
        type: 'string',
        enum: ['stream', 'link'],
        description: 'link: answers 201 with a one-use link, so that a browser downloads by itself',
      }),
    ),
    profile: Type.Optional(
      Type.Unsafe<Profile>({
        type: 'string',
        enum: [...profiles],
        description:
          'machine (default): exact round trip, LF, text always quoted, NULL is nothing at all. spreadsheet: BOM, CRLF, cells that a spreadsheet would run as a formula get a leading apostrophe.',
      }),
    ),
  },
  { additionalProperties: false },
);

/** The slice of an estimate: as of an export, as a query. */
const estimateQuery = Type.Object(
  {
    ...sliceProperties,
    tenant: tenantSchema,
    kind: csvRequestSchema.properties.kind,
    dataset: csvRequestSchema.properties.dataset,
  },
  { additionalProperties: false },
);

export const exportsContract = {
  estimateExport: {
    id: 'estimateExport',
    method: 'GET',
    path: '/exports/estimate',
    tag: 'Exports',
    summary: 'How much a slice is',
    description: 'Exact, from the counters, unless `kind` makes it count.',
    scope: 'analytics:read',
    query: estimateQuery,
    responses: {
      200: {
        description: 'Rows of the export, and bytes of its records as NDJSON.',
        schema: Type.Object({ rows: Type.Integer(), bytes: Type.Integer() }),
      },
      400: problem,
    },
  },
  downloadExport: {
    id: 'downloadExport',
    method: 'GET',
    path: '/exports/links/:code',
    tag: 'Exports',
    summary: 'Download by a one-use link',
    description: 'The link is the key: no token is sent. It works once, until it expires.',
    scope: null,
    params: Type.Object({ code: Type.String() }),
    responses: {
      200: { description: 'The CSV.', mediaType: 'text/csv', schema: Type.String() },
      404: problem,
    },
  },
  exportCsv: {
    id: 'exportCsv',
    method: 'POST',
    path: '/exports/csv',
    tag: 'Exports',
    summary: 'Export a slice of records as CSV',
    description:
      'Streamed from one snapshot in key order: as many rows as X-Record-Count says, which is the count of the leaf. A stream that fails mid-way resets the connection, so that a cut file cannot look whole; the trailer Repr-Digest proves the bytes.',
    scope: 'analytics:read',
    body: csvRequestSchema,
    responses: {
      200: {
        description: 'The CSV.',
        mediaType: 'text/csv',
        schema: Type.String(),
        headers: {
          'X-Record-Count': 'Rows that follow, without the header.',
          'Content-Disposition': 'A telling file name.',
          Trailer: 'Repr-Digest: sha-256 of the CSV before any content coding.',
        },
      },
      201: {
        description: 'With `delivery: link`: where to download it, once, within ten minutes.',
        schema: Type.Object({
          url: Type.String(),
          expires_at: instantSchema,
          row_count: Type.Integer(),
        }),
      },
      400: problem,
      429: problem,
    },
  },
} as const satisfies Record<string, RouteContract>;

export type CsvRequest = Static<typeof csvRequestSchema>;
