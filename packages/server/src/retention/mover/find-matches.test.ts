import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useFolder } from '../../../test/folder.ts';
import { createDuckDb, type DuckDb, literal } from '../../platform/duckdb.ts';
import { createLog } from '../../platform/log.ts';
import { segmentFormatFor } from '../../records/segments/segment-sql.ts';
import {
  type DayTriple,
  readSegmentDays,
  sumTriples,
  writeSegmentFromSegments,
} from '../../records/segments.ts';
import { keepFilter, matchFile } from './find-matches.ts';
import type { EraseScope } from './scope.ts';

const dir = useFolder('once');
let duckdb: DuckDb;
let path: string;
let whole: readonly DayTriple[];
const rowCount = 700_000;
const signal = new AbortController().signal;

/** A segment of many row groups; each 70th record has an event id that others have as well. */
beforeAll(async () => {
  path = join(dir.path, 'segment.parquet');
  duckdb = createDuckDb({
    memoryBytes: 2 ** 28,
    threads: 2,
    tempDir: join(dir.path, 'duckdb'),
    niceness: 0,
    log: createLog('silent'),
  });
  await duckdb.run(`copy (
    select 'T' as tenant, 'S' as store, make_timestamptz(1700000000000000 + n) as occurred_at,
      case when n % 70 = 0 then 'shared ' || n % 7000 else 'e' || n end as event_id, now() as recorded_at,
      null::varchar as kind, null::varchar as source, null::varchar as model,
      null::varchar as confidence, 100 as bytes, '{}' as enrichment
    from range(${rowCount}) as numbers(n) order by n
  ) to ${literal(path)} (${segmentFormatFor(1, 1)})`);
  whole = await readSegmentDays(duckdb, { tenant: 'T', path });
});
afterAll(async () => {
  await duckdb.close();
});

const everything: EraseScope = {
  tenant: 'T',
  store: null,
  eventIds: null,
  subject: null,
  from: null,
  to: null,
};

async function keep(scope: EraseScope) {
  const target = join(dir.path, 'kept.parquet');
  const filter = await keepFilter(duckdb, { path, rowCount, scope, signal });
  const sizes = { count: rowCount, bytes: rowCount * 100 };
  await writeSegmentFromSegments(duckdb, { paths: [path], filter, target, ...sizes });
  return readSegmentDays(duckdb, { tenant: 'T', path: target });
}

test.each([
  ['many event ids', Array.from({ length: 100 }, (_, n) => `shared ${n * 70}`), 10_000],
  ['two', ['e1', 'e699999'], 2],
  ['one that no record has', ['none'], 0],
])('what stays without %s is all the rest, in the order of the file', async (_name, ids, gone) => {
  const scope = { ...everything, eventIds: ids };
  const going = await matchFile(duckdb, { path, scope, signal });
  expect(sumTriples(going.days).count).toBe(gone);
  const kept = await keep(scope);
  expect(sumTriples([...kept, ...going.days])).toEqual(sumTriples(whole));
});

test('what stays without a store is in the order of the file', async () => {
  expect(sumTriples(await keep({ ...everything, store: 'none' })).count).toBe(rowCount);
});
