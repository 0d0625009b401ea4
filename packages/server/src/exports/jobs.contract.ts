import { type Static, Type } from 'typebox';
import { routesUnder } from '../platform/http/contract.ts';
import {
  digestSchema,
  exactly,
  instantSchema,
  nullable,
  oneOf,
  onePage,
  optional,
  paging,
  problem,
  tenantSchema,
} from '../platform/http/schemas.contract.ts';
import {
  compressions,
  type DifferenceKind,
  exportStates,
  type FieldType,
  fileTypes,
  jobFormats,
  type Proof,
  proofs,
} from './values.ts';

const sha256Schema = Type.String({ pattern: '^[0-9a-f]{64}$' });

const rowCounts = { rows: Type.Integer(), fields: Type.Record(Type.String(), Type.Integer()) };
export const rowCountsSchema = (description: string) => Type.Object(rowCounts, { description });
const misfitsSchema = (description: string) =>
  Type.Object(
    {
      ...rowCounts,
      nulls: optional.integer({
        description: 'rows beside these of which `_rest` has only nulls; left out for none',
      }),
    },
    { description },
  );
export type RowCounts = Static<ReturnType<typeof misfitsSchema>>;

/** The columns that the fields of enrichments make in typed Parquet, as a sample of the records tells them. */
export const typedSchema = Type.Object({
  columns: Type.Array(
    Type.Object({
      name: Type.String({
        description:
          'of the column: the name of the field, or its path where a column of records or another field is called so',
      }),
      field: Type.String({ description: 'its name in the enrichment' }),
      type: Type.Unsafe<FieldType>({
        description:
          'boolean, bigint, double or string; {"decimal": s}: 38 digits, s of them behind the point; {"list": type}; {"struct": [{"name", "type"}, …]}',
      }),
    }),
  ),
  sampled: Type.Integer({ description: 'records that were looked at' }),
  count: Type.Integer({ description: 'records of which these are the sample' }),
  left_out: Type.Integer({ description: 'fields that were seen and are not among the columns' }),
});
export type TypedSchema = Static<typeof typedSchema>;

/** The same as it is told beforehand. */
export const foundSchema = Type.Object({
  ...typedSchema.properties,
  misfits: Type.Optional(
    misfitsSchema(
      'in the sample, unless a version has kept the columns: records of which something other than null fits no column, and by field how many values are not of its type',
    ),
  ),
});
export type FoundSchema = Static<typeof foundSchema>;

/** An export job, as the API shows it. */
export const exportJobSchema = Type.Object({
  id: Type.String(),
  tenant: tenantSchema,
  format: oneOf(jobFormats),
  state: oneOf(
    exportStates,
    'completed: rows and digest of the file equal those of the slice when it was asked for, and the store holds its bytes. erased: it was completed; its file was removed, because records of its slice were erased, or deleted by retention',
  ),
  request: Type.Object({}, { additionalProperties: true, description: 'as it was asked for' }),
  file_name: Type.String(),
  recorded_before: {
    ...instantSchema,
    description: 'records that were stored later are not part of it',
  },
  version: nullable(Type.String({ description: 'id of the dataset version' })),
  schema: Type.Optional({ ...typedSchema, description: 'of typed Parquet; not in lists' }),
  rows_done: Type.Integer(),
  rows_total: nullable(Type.Integer({ description: 'null until they are counted' })),
  percent: nullable(
    Type.Number({
      description: 'exact: rows done of all, 0–100, rounded down; 100 once it is completed',
    }),
  ),
  rows_per_second: nullable(Type.Integer()),
  eta_s: nullable(Type.Integer({ description: 'seconds left at this rate' })),
  bytes: Type.Integer({ description: 'of the file, so far' }),
  sha256: nullable(sha256Schema),
  digest: nullable(digestSchema),
  requested_by: Type.String(),
  schedule: nullable(
    Type.Object(
      { id: Type.String(), name: Type.String() },
      { description: 'of which it is a run; null: somebody asked for it' },
    ),
  ),
  delivered_to: nullable(Type.String({ description: 'the folder of a run of a schedule' })),
  delivered_at: nullable({
    ...instantSchema,
    description: 'when all of it was there; null: not yet, or never',
  }),
  created_at: instantSchema,
  started_at: nullable(instantSchema),
  finished_at: nullable(instantSchema),
  expires_at: nullable({ ...instantSchema, description: 'when the file is removed' }),
  has_file: Type.Boolean(),
  attempts: Type.Integer({ description: 'how often it was taken up; above 1: resumed' }),
  waiting_since: nullable({
    ...instantSchema,
    description: 'while the store does not answer; null: it is not waited for',
  }),
  error_code: nullable(Type.String()),
  error: nullable(Type.String()),
});
export type ExportJob = Static<typeof exportJobSchema>;

/** Describes a file part by part. It is stored with the job, and callers can read it beside the file. */
export const manifestSchema = Type.Object({
  export_id: Type.String(),
  file_name: Type.String(),
  format: oneOf(jobFormats),
  compression: oneOf(compressions),
  columns: Type.Array(
    Type.String({
      description: 'in a typed file the columns of the schema stand in the place of enrichment',
    }),
  ),
  schema: Type.Optional(typedSchema),
  misfits: Type.Optional(
    misfitsSchema(
      'of typed Parquet: in how many rows something other than null fits no column, and of each field in how many it does not fit its own. It is in `_rest`',
    ),
  ),
  skipped: Type.Optional(
    rowCountsSchema(
      'of lines by a template: how many records have none, and by which reference that they lack a value for. `rows` are the lines; the digest is that of all records',
    ),
  ),
  request: Type.Object({}, { additionalProperties: true }),
  recorded_before: instantSchema,
  version: nullable(
    Type.Object(
      { id: Type.String(), name: Type.String(), dataset: Type.String() },
      { additionalProperties: true },
    ),
  ),
  rows: Type.Integer({ minimum: 0 }),
  digest: digestSchema,
  proof: oneOf(
    proofs,
    'content: every part was read back, and the digest was computed from what is in it. sample: the digest is that of the records where they were encoded from; the first part and every sixteenth after it were read back and had the same. rows: columns that the digest needs are not in the file, so of those parts only the rows were counted. In any case the SHA-256 of every part is that of the bytes that were encoded, and the store has acknowledged them by their checksum.',
  ),
  splits: nullable(
    Type.Record(Type.String(), Type.Object({ rows: Type.Integer(), digest: digestSchema })),
  ),
  bytes: Type.Integer({ minimum: 0 }),
  sha256: sha256Schema,
  parts: Type.Array(
    Type.Object({
      rows: Type.Integer({ minimum: 0 }),
      digest: digestSchema,
      bytes: Type.Integer({ minimum: 0 }),
      sha256: sha256Schema,
    }),
  ),
  created_at: instantSchema,
  finished_at: instantSchema,
});
export type Manifest = Static<typeof manifestSchema>;

/** What a file is, read whole and parsed again, against its manifest. What could not be told of it is null. */
export type FileVerdict = {
  readonly export_id: string;
  readonly file_name: string;
  readonly ok: boolean;
  /** content: the digest of each part was computed from the rows in it. rows: the rows were only counted. */
  readonly proof: Exclude<Proof, 'sample'>;
  readonly rows: number | null;
  readonly digest: string | null;
  readonly bytes: number;
  readonly sha256: string | null;
  readonly parts: readonly PartVerdict[];
  readonly differences: readonly FileDifference[];
};

export type PartVerdict = {
  /** Counts from 1. */
  readonly part: number;
  readonly ok: boolean;
  readonly rows: number | null;
  readonly digest: string | null;
  readonly bytes: number;
  readonly sha256: string | null;
};

export type FileDifference = {
  /** null: the difference is of the file as a whole, or outside its parts. */
  readonly part: number | null;
  readonly kind: DifferenceKind;
  /** As the manifest says; null where there is nothing to compare. */
  readonly expected: string | number | null;
  readonly found: string | number | null;
  readonly message: string;
};

/** The routes of export jobs. */
export const exportJobsContract = routesUnder('Exports', {
  listExports: {
    route: 'GET /exports',
    summary: 'List export jobs',
    description: 'The latest first.',
    scope: 'analytics:read',
    stores: 'own',
    query: exactly({
      tenant: Type.Optional(tenantSchema),
      state: Type.Optional(oneOf(exportStates)),
      schedule: optional.string({ maxLength: 100, description: 'id of a schedule: its runs' }),
      ...paging,
    }),
    responses: onePage(exportJobSchema),
  },
  getExport: {
    route: 'GET /exports/:id',
    summary: 'Follow an export job',
    scope: 'analytics:read',
    stores: 'own',
    responses: { 200: { description: 'The job.', schema: exportJobSchema } },
  },
  getManifest: {
    route: 'GET /exports/:id/manifest',
    summary: 'What the file of an export is, part by part',
    scope: 'analytics:read',
    stores: 'own',
    responses: { 200: { description: 'The manifest.', schema: manifestSchema }, 409: problem },
  },
  downloadFile: {
    route: 'GET /exports/:id/file',
    summary: 'Download the file of an export job',
    description:
      'Takes Range and If-Range, answers ETag and Repr-Digest: a download that broke off is resumed. Each part is checked against its SHA-256 before a byte of it is sent.',
    scope: 'analytics:read',
    stores: 'own',
    responses: {
      200: {
        description: 'The file.',
        mediaType: fileTypes.any,
        schema: Type.String(),
        headers: {
          ETag: 'The SHA-256 of the file.',
          'Repr-Digest': 'sha-256 of the file.',
          'Content-Disposition': 'A telling file name.',
          'X-Record-Count': 'Rows of the file, without the header.',
        },
      },
      206: { description: 'A range of it.', mediaType: fileTypes.any, schema: Type.String() },
      304: { description: 'The file with this ETag is known already.' },
      409: problem,
      410: problem,
      416: problem,
    },
  },
  cancelExport: {
    route: 'DELETE /exports/:id',
    summary: 'Cancel an export job, or remove its file',
    description:
      'A job that is queued or running is cancelled, within a second. The file of one that is completed is gone at once, and removed from the store within seconds, or after a backup that copies it. Otherwise nothing happens. Only for the token that asked for the export, and for admins (403).',
    scope: 'analytics:read',
    stores: 'own',
    responses: { 200: { description: 'The job as it is now.', schema: exportJobSchema } },
  },
});
