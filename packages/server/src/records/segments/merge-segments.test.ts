import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useFolder } from '../../../test/folder.ts';
import { createDuckDb, type DuckDb, literal } from '../../platform/duckdb.ts';
import { createLog } from '../../platform/log.ts';
import { mergeSegments } from './merge-segments.ts';
import { readSegmentDays } from './read-segment.ts';
import { type DayTriple, sumByDay } from './segment.ts';
import { segmentFormatFor, segmentOrder } from './segment-sql.ts';

// Half as much memory as a service gives DuckDB to merge with, for half as many records as do not fit into it.
const dir = useFolder('once');
let duckdb: DuckDb;
beforeAll(async () => {
  duckdb = createDuckDb({
    memoryBytes: 64 * 2 ** 20,
    threads: 1,
    niceness: 0,
    tempDir: join(dir.path, 'duckdb'),
    log: createLog('silent'),
  });
});
afterAll(async () => {
  await duckdb.close();
});

/** A segment of every fourth record, from the `first` on, of 150,000 on one day and 8 on the next. */
async function writeQuarter(first: number): Promise<string> {
  const path = join(dir.path, `${first}.parquet`);
  const text = `repeat(md5(i::varchar), 12)`;
  await duckdb.run(`copy (
      select 'TX' as tenant, 'DFW' as store,
        make_timestamptz(if(i < 8, 983491200000000, 983404800000000) + (i % 125000) * 691200) as occurred_at,
        'e' || i as event_id, make_timestamptz(983577600000000) as recorded_at, 'tag' as kind,
        'vision' as source, null::varchar as model, '0.9' as confidence, 450::integer as bytes,
        '{"text":"' || ${text} || '"}' as enrichment
      from range(${first}, 150000, 4) numbers(i) order by ${segmentOrder}
    ) to ${literal(path)} (${segmentFormatFor(37_500, 37_500 * 450)})`);
  return path;
}

test('a day that memory cannot sort at once is merged piece by piece', async () => {
  const paths: string[] = [];
  const before: DayTriple[] = [];
  for (const first of [0, 1, 2, 3]) {
    const path = await writeQuarter(first);
    paths.push(path);
    before.push(...(await readSegmentDays(duckdb, { tenant: 'TX', path })));
  }
  const days = [...sumByDay(before).values()].sort((a, b) => (a.day < b.day ? -1 : 1));
  const target = join(dir.path, 'merged.parquet');
  await mergeSegments(duckdb, { paths, days, target });
  const after = await readSegmentDays(duckdb, { tenant: 'TX', path: target });
  expect([...sumByDay(after).values()]).toEqual(days);
  expect(days.map(({ count }) => count)).toEqual([149_992, 8]);
  expect((await readdir(dir.path)).filter((name) => name.startsWith('merged'))).toEqual([
    'merged.parquet',
  ]);
});
