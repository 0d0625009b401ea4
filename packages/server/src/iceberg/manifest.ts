import { type AvroRecord, encodeAvroFile, field, optional } from './avro.ts';
import { partitionSpec, tableSchema } from './metadata.ts';

// The fields and their ids are those of https://iceberg.apache.org/spec/#manifests, format version 2.

/** The smallest and the largest values of columns, by the ids of the columns. */
export type Bounds = readonly {
  readonly id: number;
  readonly low: Buffer;
  readonly high: Buffer;
}[];

/** A segment in a manifest. */
type ManifestEntry = {
  /** Where it is, as a URI. */
  readonly path: string;
  readonly tenant: string;
  readonly count: number;
  readonly size_bytes: number;
  /** Null for a file that is gone. */
  readonly bounds: Bounds | null;
  /** The snapshot that added the file. */
  readonly since: number;
  /** Whether the snapshot of the manifest deletes it. */
  readonly isGone: boolean;
};

/** How many files and records of a manifest were added by its snapshot, stayed, and were deleted. */
type ManifestCounts = Readonly<
  Record<
    | `${'added' | 'existing' | 'deleted'}_files_count`
    | `${'added' | 'existing' | 'deleted'}_rows_count`,
    number
  >
>;

/** What the list of a snapshot tells of a manifest, beside where it is. */
export type ListedManifest = {
  readonly size_bytes: number;
  /** The snapshot that wrote it. */
  readonly snapshot_id: number;
  /** The oldest snapshot that added a file which it still holds. */
  readonly oldest_id: number;
  readonly tenant: string;
  readonly counts: ManifestCounts;
};

const existing = 0;
const added = 1;
const deleted = 2;

const bound = (name: string, key: number, value: number) => ({
  type: 'array' as const,
  logicalType: 'map',
  items: record(name, [field(key, 'key', 'int'), field(value, 'value', 'bytes')]),
});

const entrySchema = record('manifest_entry', [
  field(0, 'status', 'int'),
  optional(1, 'snapshot_id', 'long'),
  optional(3, 'sequence_number', 'long'),
  optional(4, 'file_sequence_number', 'long'),
  field(
    2,
    'data_file',
    record('r2', [
      field(134, 'content', 'int'),
      field(100, 'file_path', 'string'),
      field(101, 'file_format', 'string'),
      field(102, 'partition', record('r102', [optional(1000, 'tenant', 'string')])),
      field(103, 'record_count', 'long'),
      field(104, 'file_size_in_bytes', 'long'),
      optional(125, 'lower_bounds', bound('k126_v127', 126, 127)),
      optional(128, 'upper_bounds', bound('k129_v130', 129, 130)),
    ]),
  ),
]);

const listSchema = record('manifest_file', [
  field(500, 'manifest_path', 'string'),
  field(501, 'manifest_length', 'long'),
  field(502, 'partition_spec_id', 'int'),
  field(517, 'content', 'int'),
  field(515, 'sequence_number', 'long'),
  field(516, 'min_sequence_number', 'long'),
  field(503, 'added_snapshot_id', 'long'),
  field(504, 'added_files_count', 'int'),
  field(505, 'existing_files_count', 'int'),
  field(506, 'deleted_files_count', 'int'),
  field(512, 'added_rows_count', 'long'),
  field(513, 'existing_rows_count', 'long'),
  field(514, 'deleted_rows_count', 'long'),
  optional(507, 'partitions', {
    type: 'array',
    'element-id': 508,
    items: record('r508', [
      field(509, 'contains_null', 'boolean'),
      optional(518, 'contains_nan', 'boolean'),
      optional(510, 'lower_bound', 'bytes'),
      optional(511, 'upper_bound', 'bytes'),
    ]),
  }),
]);

function record(name: string, fields: AvroRecord['fields']): AvroRecord {
  return { type: 'record', name, fields };
}

/** Returns the manifest of these files. The sequence number of a snapshot is its id, since both grow. */
export function encodeManifest(snapshotId: number, entries: readonly ManifestEntry[]): Buffer {
  const rows = entries.map(({ since, isGone, ...file }) => ({
    status: isGone ? deleted : since === snapshotId ? added : existing,
    snapshot_id: isGone ? snapshotId : since,
    sequence_number: since,
    file_sequence_number: since,
    data_file: {
      content: 0,
      file_path: file.path,
      file_format: 'PARQUET',
      partition: { tenant: file.tenant },
      record_count: file.count,
      file_size_in_bytes: file.size_bytes,
      lower_bounds: file.bounds?.map(({ id, low }) => ({ key: id, value: low })) ?? null,
      upper_bounds: file.bounds?.map(({ id, high }) => ({ key: id, value: high })) ?? null,
    },
  }));
  const metadata = {
    schema: JSON.stringify(tableSchema),
    'schema-id': String(tableSchema['schema-id']),
    'partition-spec': JSON.stringify(partitionSpec.fields),
    'partition-spec-id': String(partitionSpec['spec-id']),
    'format-version': '2',
    content: 'data',
  };
  return encodeAvroFile(entrySchema, metadata, rows);
}

/** Counts what a manifest of this snapshot holds. */
export function countEntries(
  snapshotId: number,
  entries: readonly Pick<ManifestEntry, 'since' | 'isGone' | 'count'>[],
): ManifestCounts {
  const counts = {
    added_files_count: 0,
    existing_files_count: 0,
    deleted_files_count: 0,
    added_rows_count: 0,
    existing_rows_count: 0,
    deleted_rows_count: 0,
  };
  for (const { since, isGone, count } of entries) {
    const kind = isGone ? 'deleted' : since === snapshotId ? 'added' : 'existing';
    counts[`${kind}_files_count`] += 1;
    counts[`${kind}_rows_count`] += count;
  }
  return counts;
}

/** Returns the list of the manifests of a snapshot. */
export function encodeManifestList(
  snapshot: { readonly id: number; readonly parent_id: number },
  manifests: readonly (ListedManifest & { readonly path: string })[],
): Buffer {
  const rows = manifests.map(({ path, size_bytes, snapshot_id, oldest_id, tenant, counts }) => ({
    manifest_path: path,
    manifest_length: size_bytes,
    partition_spec_id: partitionSpec['spec-id'],
    content: 0,
    sequence_number: snapshot_id,
    min_sequence_number: oldest_id,
    added_snapshot_id: snapshot_id,
    ...counts,
    partitions: [
      {
        contains_null: false,
        contains_nan: false,
        lower_bound: Buffer.from(tenant),
        upper_bound: Buffer.from(tenant),
      },
    ],
  }));
  const metadata = {
    'snapshot-id': String(snapshot.id),
    'parent-snapshot-id': snapshot.parent_id === 0 ? 'null' : String(snapshot.parent_id),
    'sequence-number': String(snapshot.id),
    'format-version': '2',
  };
  return encodeAvroFile(listSchema, metadata, rows);
}
