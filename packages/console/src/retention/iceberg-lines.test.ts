import { expect, test } from 'vitest';
import type { IcebergTable } from '../api/types.ts';
import { readerLines, snapshotOf } from './iceberg-lines.ts';

const snapshot = (id: number, records: string) => ({
  'snapshot-id': id,
  'timestamp-ms': Date.UTC(2026, 2, 1),
  'manifest-list': '',
  summary: { operation: 'replace', 'total-records': records, 'total-data-files': '2' },
});
const tableOf = (current: number, snapshots: ReturnType<typeof snapshot>[]): IcebergTable => ({
  'metadata-location': "file:///it's/cold/metadata.json",
  metadata: { 'table-uuid': 'u', 'last-updated-ms': 0, 'current-snapshot-id': current, snapshots },
  config: {},
});

test('the snapshot is the current one, whatever its place among those that are kept', () => {
  expect(snapshotOf(tableOf(7, [snapshot(7, '120'), snapshot(5, '90')]))).toEqual({
    id: '7',
    at: '2026-03-01T00:00:00Z',
    operation: 'replace',
    records: 120,
    files: 2,
    kept: 1,
  });
});

test('a table without records has no snapshot to scan, and the same catalogue', () => {
  const lines = readerLines(tableOf(-1, []), 'https://svc.test');
  expect(snapshotOf(tableOf(-1, []))).toBeUndefined();
  expect([lines.catalogue, lines.scan]).toEqual(['https://svc.test/iceberg', null]);
});

test('lines name the address, and quote the file', () => {
  const lines = readerLines(tableOf(7, [snapshot(7, '1')]), 'https://svc.test');
  expect(lines.pyiceberg).toContain('uri="https://svc.test/iceberg"');
  expect(lines.duckdb).toContain("endpoint 'https://svc.test/iceberg'");
  expect(lines.scan).toContain("iceberg_scan('file:///it''s/cold/metadata.json')");
});
