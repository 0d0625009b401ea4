import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDuckDb, type DuckDb } from '../../platform/duckdb.ts';
import { createLog } from '../../platform/log.ts';
import { addRecords, makeRecords, startTestMover, type TestMover } from './testing/test-mover.ts';
import { journal } from './testing/truth.ts';

const day = '2001-03-01';
let mover: TestMover;
let duckdb: DuckDb;
beforeAll(async () => {
  mover = await startTestMover();
  duckdb = createDuckDb({
    ...{ memoryBytes: 128 * 2 ** 20, threads: 1, niceness: 0 },
    tempDir: join(mover.context().spoolDir, 'duckdb'),
    log: createLog('silent'),
  });
});
afterAll(async () => {
  await duckdb.close();
  await mover.stop();
});

test('a move that DuckDB has too little memory for fails, and keeps nothing waiting', async () => {
  await addRecords(mover.db, makeRecords('small', { days: [day] }));
  const tight: DuckDb = {
    ...duckdb,
    run: (statements, options) =>
      duckdb.run(["set memory_limit = '1MB'", ...[statements].flat()], options),
  };
  expect(await mover.move('small', day, { duckdb: tight })).toMatchObject({ failedMoves: 1 });
  expect(await journal(mover, 'small')).toMatchObject([
    { state: 'failed', failed_in: 'planned', error_code: 'out_of_memory' },
  ]);
  expect(await mover.move('small', day)).toMatchObject({ movedCount: 10, failedMoves: 0 });
});
