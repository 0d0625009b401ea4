import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Database } from '../../../platform/postgres/database.ts';
import { readPieces } from '../../segments/pieces.ts';
import { readSegmentDays, readSegmentKeys, readWhole } from '../../segments/read-segment.ts';
import { removeHotRows, replaceSegments } from '../../segments/replace-segments.ts';
import { emptyTriple, type NewSegment, sumTriples } from '../../segments/segment.ts';
import { segmentKey } from '../../segments/segment-key.ts';
import { spoolHotRows } from '../../segments/spool.ts';
import { writeSegmentFromSegments, writeSegmentFromSpool } from '../../segments/write-segment.ts';
import type { ColdStore } from './cold-store.ts';

type FreezeOptions = {
  tenant: string;
  firstDay?: string;
  lastDay?: string;
  /** DuckDB SQL: which of the hot records; all without it. */
  filter?: string;
  /** Ids differ by it. */
  id: string;
  /** Whether row groups have 2,048 rows, as those of large records do. */
  hasSmallGroups?: boolean;
};

/** Moves hot records into one segment, as a mover does but without its journal. False when none is hot. */
export async function freeze(
  db: Database,
  cold: ColdStore,
  options: FreezeOptions,
): Promise<boolean> {
  const { tenant, firstDay = '1970-01-01', lastDay = '2100-01-01', filter, id } = options;
  const [spoolPath, whole, target] = ['csv', 'whole', 'parquet'].map((name) =>
    join(cold.spoolDir, `${id}.${name}`),
  ) as [string, string, string];
  const spooled = await spoolHotRows(db, { tenant, firstDay, lastDay, path: spoolPath });
  if (spooled.length === 0) return false;
  const sum = sumTriples(spooled);
  const size = options.hasSmallGroups === true ? { ...sum, bytes: 2 ** 40 } : sum;
  await writeSegmentFromSpool(cold.duckdb, {
    tenant,
    spoolPath,
    target: filter === undefined ? target : whole,
    ...size,
  });
  if (filter !== undefined) {
    await writeSegmentFromSegments(cold.duckdb, { paths: [whole], filter, target, ...size });
  }
  const segment = await store(cold, { tenant, id, path: target });
  if (segment === null) return false;
  const rowsOf = new Map(segment.days.map((day) => [`${day.store}/${day.day}`, day]));
  await db.transaction((connection) =>
    replaceSegments(connection, {
      tenant,
      add: [segment],
      remove: [],
      removeHot: async (locked) => {
        await removeHotRows(connection, locked, {
          tenant,
          copied: segment.days,
          readKeys: ({ store: name, day }) => {
            const { first_row = 0, count = 0 } = rowsOf.get(`${name}/${day}`) ?? {};
            return readSegmentKeys(cold.duckdb, { path: target, first_row, count });
          },
        });
        return [];
      },
    }),
  );
  return true;
}

/** Merges all segments of a tenant into one; the objects of the old ones are gone at once. */
export async function compact(
  db: Database,
  cold: ColdStore,
  options: { tenant: string; id: string },
): Promise<void> {
  const { tenant, id } = options;
  const { rows: old } = await db.pool.query<{ id: string; object_key: string }>(
    'select id, object_key from segments where tenant = $1',
    [tenant],
  );
  const path = join(cold.spoolDir, `${id}.parquet`);
  const paths = old.map((segment) => join(cold.dir, segment.object_key));
  await writeSegmentFromSegments(cold.duckdb, { paths, target: path, ...emptyTriple });
  const segment = await store(cold, { tenant, id, path });
  if (segment === null) throw new Error('there is nothing to merge');
  await db.transaction((connection) =>
    replaceSegments(connection, { tenant, add: [segment], remove: old.map((one) => one.id) }),
  );
  for (const { object_key } of old) await cold.store.remove(object_key);
}

async function store(
  cold: ColdStore,
  { tenant, id, path }: { tenant: string; id: string; path: string },
): Promise<NewSegment | null> {
  if ((await readSegmentDays(cold.duckdb, { tenant, path })).length === 0) return null;
  const held = await readWhole(cold.duckdb, { tenant, path });
  const dates = held.days.map(({ day }) => day).sort();
  const [firstDay, lastDay] = [dates[0], dates.at(-1)];
  if (firstDay === undefined || lastDay === undefined) return null;
  const key = segmentKey({ tenant, id, firstDay, lastDay });
  await cold.store.put(key, path);
  const bytes = await readFile(path);
  return {
    id,
    object_key: key,
    size_bytes: bytes.length,
    sha256: createHash('sha256').update(bytes).digest(),
    ...held,
    pieces: await readPieces(cold.duckdb, { path }),
  };
}
