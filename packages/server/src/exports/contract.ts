import { Type } from 'typebox';
import type { RouteContract } from '../platform/http/contract.ts';
import { labelSchema, problem, tenantSchema } from '../platform/http/schemas.contract.ts';
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

export const exportsContract = {
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
      400: problem,
      429: problem,
    },
  },
} as const satisfies Record<string, RouteContract>;
