import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { AppError } from '../../kernel/errors.ts';
import { DuckDbError } from '../../platform/duckdb.ts';
import { toFault } from './context.ts';

const full = await writeFile('/dev/full', 'a').catch((error: unknown) => error);

test.each([
  ['a write', full],
  [
    'what DuckDB writes',
    new DuckDbError('IO Error: Could not write file "/data/spool/0.csv": No space left on device'),
  ],
  [
    'what DuckDB puts aside',
    new DuckDbError(
      "Out of Memory Error: failed to offload data block. This limit was set by the 'max_temp_directory_size' setting.",
    ),
  ],
])('%s that finds the disk full says where, and what to do', (_, error) => {
  expect(toFault(error, '/data/spool')).toEqual({
    code: 'cold_tier_unavailable',
    text: 'The export cannot be written in /data/spool: no space is left (ENOSPC). Free some space there, or point SVC_DATA_DIR to a larger disk.',
    isPassing: true,
  });
});

test('a store that is full says so itself', () => {
  const error = new AppError('cold_tier_unavailable', { detail: 'Point SVC_BLOB_URL elsewhere.' });
  expect(toFault(error, '/data/spool').text).toBe('Point SVC_BLOB_URL elsewhere.');
});

test.each([
  ['of no kind', new Error('secret')],
  ['that nobody put into words', new AppError('internal_error', { cause: new Error('secret') })],
])('an error %s is told as a mistake, and where the log has it', (_, error) => {
  expect(toFault(error, '/data/spool')).toEqual({
    code: 'internal_error',
    text: 'The service made a mistake. The log has it under exportId.',
    isPassing: true,
  });
});
