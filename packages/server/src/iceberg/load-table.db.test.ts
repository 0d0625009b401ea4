import sql from 'sql-template-tag';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { use } from '../../test/use.ts';
import { segmentColumns } from '../records/segments/segment-sql.ts';
import { deleteTenant } from '../retention/mover/delete-tenant.ts';
import { loadTable } from './load-table.ts';
import { startTableWorld, type TableWorld } from './testing/table-world.ts';

const world = use<TableWorld>(startTableWorld, (started) => started.stop());
beforeEach(() => world.forgetAll());

test('without segments the table is there, and empty', async () => {
  const { paths, snapshot } = await world.readTable();
  expect(paths).toEqual([]);
  expect(snapshot.summary).toMatchObject({ operation: 'append', 'total-records': '0' });
});

const operationOf = ({ summary }: { summary: { operation: string } }) => summary.operation;

describe('with segments', () => {
  let day: string;
  beforeAll(async () => {
    day = await world.addSegment('TX');
    for (const tenant of ['ZZ', 'É 50% "x"']) await world.addSegment(tenant);
  });

  test('the manifests name exactly the live segments, with what the catalogue knows of them', async () => {
    const { paths, live, manifests, snapshot } = await world.readTable();
    expect(paths).toEqual(await world.livePaths());
    expect(manifests.map(({ partitions }) => partitions[0].lower_bound)).toEqual(
      live.map(({ data_file }) => Buffer.from(data_file.partition.tenant).toString('hex')),
    );
    const [row] = await world.mover.db.query<{ count: number; size_bytes: number; key: string }>(
      sql`select count, size_bytes, object_key as key from segments where tenant = 'TX'`,
    );
    const file = live.find(({ data_file }) => data_file.partition.tenant === 'TX')?.data_file;
    expect(file).toMatchObject({
      file_path: `file://${world.mover.store.pathOf(row?.key ?? '')}`,
      record_count: BigInt(row?.count ?? 0),
      file_size_in_bytes: BigInt(row?.size_bytes ?? 0),
    });
    expect(snapshot.summary).toMatchObject({ operation: 'append', 'total-records': '12' });
  });

  test('the bounds of a segment are those of its stores and times', async () => {
    const { live } = await world.readTable(['TX']);
    const micros = (text: string) => {
      const bytes = Buffer.alloc(8);
      bytes.writeBigInt64LE(BigInt(Date.parse(text)) * 1000n + BigInt(text.slice(23, 26)));
      return bytes.toString('hex');
    };
    const bounds = (store: string, at: string) => [
      { key: 2n, value: Buffer.from(store).toString('hex') },
      { key: 3n, value: micros(at) },
    ];
    expect(live[0]?.data_file).toMatchObject({
      lower_bounds: bounds('DFW', `${day}T00:00:00.000000Z`),
      upper_bounds: bounds('ORD', `${day}T01:00:00.000001Z`),
    });
  });

  test('the columns are those of the segments, and found by their names', async () => {
    const { metadata, live } = await world.readTable(['TX']);
    const path = live[0]?.data_file.file_path.replace('file://', '');
    const found = await world.mover.duckdb.run<{ column_name: string; column_type: string }>(
      `describe select * from read_parquet('${path}', hive_partitioning = false)`,
    );
    const types: Record<string, string> = {
      VARCHAR: 'string',
      'TIMESTAMP WITH TIME ZONE': 'timestamptz',
      INTEGER: 'int',
    };
    const { fields } = metadata.schemas[0];
    expect(fields.map(({ name, type }: { name: string; type: string }) => [name, type])).toEqual(
      found.map((column) => [column.column_name, types[column.column_type]]),
    );
    const mapping = JSON.parse(metadata.properties['schema.name-mapping.default']);
    expect(mapping.flatMap(({ names }: { names: string[] }) => names)).toEqual([...segmentColumns]);
  });

  test('while nothing changes, the files are the same', async () => {
    const [one, two] = [await loadTable(world.tools, null), await loadTable(world.tools, null)];
    expect(two).toEqual(one);
  });

  test('a table limited to tenants names nothing of others, nor that they changed', async () => {
    const before = await world.readTable(['TX']);
    expect(before.paths).toEqual(await world.livePaths(['TX']));
    await world.addSegment('ZZ');
    const after = await world.readTable(['TX']);
    expect(after.loaded).toEqual(before.loaded);
    expect(JSON.stringify(after.metadata)).not.toContain('ZZ');
    expect((await world.readTable(['nobody'])).paths).toEqual([]);
    expect((await world.readTable([])).paths).toEqual([]);
  });

  test('a snapshot follows the one before, and rewrites the manifests of those alone who changed', async () => {
    const before = await world.readTable();
    await world.addSegment('TX');
    const after = await world.readTable();
    expect(after.paths).toEqual(await world.livePaths());
    const path = ({ manifest_path }: { manifest_path: string }) => manifest_path;
    const kept = after.manifests.filter((one) => before.manifests.map(path).includes(path(one)));
    expect(kept.length).toBe(before.manifests.length - 1);
    expect(after.snapshot['parent-snapshot-id']).toBe(before.snapshot['snapshot-id']);
    expect(after.snapshot['sequence-number']).toBeGreaterThan(before.snapshot['sequence-number']);
    expect(after.snapshot.summary).toMatchObject({
      operation: 'append',
      'added-data-files': '1',
      'added-records': '4',
    });
    const added = after.entries.filter(({ status }) => status === 1n);
    const id = BigInt(after.snapshot['snapshot-id']);
    expect(added.filter(({ snapshot_id }) => snapshot_id === id).length).toBe(1);
    const old = after.entries.filter(({ status }) => status === 0n);
    expect(old.every(({ sequence_number }) => sequence_number < id)).toBe(true);
  });

  test('a merge is a snapshot that replaces files by others with the same records', async () => {
    const tenants = ['merged'];
    for (let n = 0; n < 7; n++) await world.addSegment('merged');
    const before = await world.readTable(tenants);
    expect(before.paths.length).toBe(7);
    // The eighth is merged with the others once it is there.
    await world.addSegment('merged', {
      onTransition: async (to, when) => {
        if (to === 'switched' && when === 'after') await loadTable(world.tools, tenants);
      },
    });
    const after = await world.readTable(tenants);
    expect(after.paths).toEqual(await world.livePaths(tenants));
    expect(after.metadata.snapshots.map(operationOf)).toEqual([
      ...Array.from({ length: 8 }, () => 'append'),
      'replace',
    ]);
    expect(after.snapshot.summary).toMatchObject({
      'added-data-files': '1',
      'deleted-data-files': '8',
      'added-records': '32',
      'deleted-records': '32',
      'total-records': '32',
    });
    const eight = await world.readTable(tenants, -2);
    const gone = after.entries.filter(({ status }) => status === 2n);
    expect(gone.map(({ data_file }) => data_file.file_path).sort()).toEqual(eight.paths);
    // Whoever loaded the table before goes on reading: its files are there for the time of grace.
    expect((await world.readTable(tenants, -3)).paths).toEqual(before.paths);
    for (const path of eight.paths) await world.fileOf(path);
  });

  test('a deletion is a snapshot, after which the tenant is named no more', async () => {
    const day = await world.addSegment('leaves');
    await world.readTable();
    const { signal } = new AbortController();
    await deleteTenant(world.mover.context({ graceSeconds: 3600 }), {
      tenant: 'leaves',
      lastDay: day,
      runId: null,
      signal,
    });
    const deleted = await world.readTable();
    expect(deleted.paths).toEqual(await world.livePaths());
    expect(deleted.snapshot.summary).toMatchObject({ operation: 'delete', 'deleted-records': '4' });
    await world.addSegment('ZZ');
    const next = await world.readTable();
    const tenants = next.manifests.map(({ partitions }) => partitions[0].lower_bound);
    expect(tenants).toContain(Buffer.from('ZZ').toString('hex'));
    expect(tenants).not.toContain(Buffer.from('leaves').toString('hex'));
    expect(next.paths).toEqual(await world.livePaths());
  });
});
