import pg from 'pg';
import { expect, test } from 'vitest';
import { translateDatabaseError } from './errors.ts';

test.each([
  'failure on connection marked as essential: 127.0.0.1:9701',
  'terminating connection due to unexpected postmaster exit',
  'terminating connection because of crash of another server process',
  'server closed the connection unexpectedly',
])('a cluster that says "%s" has lost a worker, which comes back', (message) => {
  expect(translateDatabaseError(said(message))).toMatchObject({
    code: 'database_unavailable',
    retryAfterSeconds: 1,
  });
});

test('another error without a code of its own is not told as an outage', () => {
  const error = said('cache lookup failed for relation 1');
  expect(translateDatabaseError(error)).toBe(error);
});

function said(message: string): pg.DatabaseError {
  const error = new pg.DatabaseError(message, message.length, 'error');
  return Object.assign(error, { code: 'XX000', severity: 'ERROR' });
}
