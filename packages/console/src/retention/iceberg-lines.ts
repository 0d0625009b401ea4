import type { IcebergTable } from '../api/types.ts';

/** The snapshot that readers get, and how many older ones can still be read; undefined when there is none. */
export function snapshotOf({ metadata }: IcebergTable) {
  const { snapshots } = metadata;
  const current = snapshots.find((each) => each['snapshot-id'] === metadata['current-snapshot-id']);
  if (current === undefined) return undefined;
  const { summary } = current;
  return {
    id: String(current['snapshot-id']),
    at: `${new Date(current['timestamp-ms']).toISOString().slice(0, 19)}Z`,
    operation: summary.operation ?? '–',
    records: Number(summary['total-records'] ?? 0),
    files: Number(summary['total-data-files'] ?? 0),
    kept: snapshots.length - 1,
  };
}

/** What others write to read the table of the service at an origin. `scan` needs a snapshot. */
export function readerLines(table: IcebergTable, origin: string) {
  const catalogue = `${origin}/iceberg`;
  return {
    catalogue,
    pyiceberg: [
      'from pyiceberg.catalog import load_catalog',
      `catalog = load_catalog("svcctl", uri="${catalogue}", token="svc_…")`,
      'table = catalog.load_table("svcctl.records")',
      `table.scan(row_filter="tenant == 'TX'").to_arrow()`,
    ].join('\n'),
    duckdb: [
      'install iceberg; load iceberg;',
      "create secret (type iceberg, token 'svc_…');",
      `attach '' as cold (type iceberg, endpoint '${catalogue}', access_delegation_mode 'none');`,
      'select store, count(*) from cold.svcctl.records group by store;',
    ].join('\n'),
    scan:
      snapshotOf(table) === undefined
        ? null
        : `select count(*) from iceberg_scan('${table['metadata-location'].replaceAll("'", "''")}');`,
  };
}
