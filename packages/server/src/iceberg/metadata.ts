// What is the same for every snapshot of the table, by https://iceberg.apache.org/spec/, format version 2.

/** The columns of a segment in Parquet. DuckDB says of all that they may be null, though only four ever are. */
const columns = [
  ['tenant', 'string'],
  ['store', 'string'],
  ['occurred_at', 'timestamptz'],
  ['event_id', 'string'],
  ['recorded_at', 'timestamptz'],
  ['kind', 'string'],
  ['source', 'string'],
  ['model', 'string'],
  ['confidence', 'string'],
  ['bytes', 'int'],
  ['enrichment', 'string'],
] as const;

/** Returns the id of a column. */
export function columnId(name: (typeof columns)[number][0]): number {
  return columns.findIndex(([other]) => other === name) + 1;
}

export const tableSchema = {
  type: 'struct',
  'schema-id': 0,
  fields: columns.map(([name, type], index) => ({ id: index + 1, name, required: false, type })),
} as const;

/** Readers that want few tenants read the manifests of these alone. */
export const partitionSpec = {
  'spec-id': 0,
  fields: [
    { name: 'tenant', transform: 'identity', 'source-id': columnId('tenant'), 'field-id': 1000 },
  ],
} as const;

/** Segments have no ids of columns, so readers find a column by its name. */
const nameMapping = columns.map(([name], index) => ({ 'field-id': index + 1, names: [name] }));

export type SnapshotRow = {
  readonly id: number;
  readonly parent_id: number;
  /** The key of its list of manifests, or the URI by which readers find it. */
  readonly manifest_list: string;
  readonly summary: Readonly<Record<string, string>>;
  /** When the catalogue came to say what it shows, in microseconds since 1970. */
  readonly at: number;
};

/** Returns the metadata as its file holds it, with these snapshots, the newest last. All places are URIs. */
export function tableMetadata(table: {
  readonly id: string;
  readonly location: string;
  readonly newest: SnapshotRow;
  readonly snapshots: readonly SnapshotRow[];
}) {
  const { newest, snapshots } = table;
  const millis = (micros: number) => Math.floor(micros / 1000);
  return {
    'format-version': 2,
    'table-uuid': table.id,
    location: table.location,
    'last-sequence-number': newest.id,
    'last-updated-ms': millis(newest.id),
    'last-column-id': columns.length,
    schemas: [tableSchema],
    'current-schema-id': 0,
    'partition-specs': [partitionSpec],
    'default-spec-id': 0,
    'last-partition-id': 1000,
    'sort-orders': [{ 'order-id': 0, fields: [] }],
    'default-sort-order-id': 0,
    properties: { 'schema.name-mapping.default': JSON.stringify(nameMapping) },
    'current-snapshot-id': newest.id,
    snapshots: snapshots.map(({ id, parent_id, manifest_list, summary, at }) => ({
      'snapshot-id': id,
      ...(parent_id === 0 ? {} : { 'parent-snapshot-id': parent_id }),
      'sequence-number': id,
      'timestamp-ms': millis(at),
      'manifest-list': manifest_list,
      summary,
      'schema-id': 0,
    })),
    'snapshot-log': snapshots.map(({ id, at }) => ({
      'timestamp-ms': millis(at),
      'snapshot-id': id,
    })),
    'metadata-log': [],
    refs: { main: { 'snapshot-id': newest.id, type: 'branch' } },
  };
}
