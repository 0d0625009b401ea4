import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import pg from 'pg';
import { expect, test } from 'vitest';
import { describeFault, translateDatabaseError } from './errors.ts';

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

test.each(['a client', 'a pool'])(
  'a server that takes the connection of %s and says nothing is away',
  async (of) => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const options = { host: '127.0.0.1', port, connectionTimeoutMillis: 50 };
    const connecting =
      of === 'a client' ? new pg.Client(options).connect() : new pg.Pool(options).connect();
    const error = await connecting.catch((cause: unknown) => cause);
    server.close();
    expect(translateDatabaseError(error)).toMatchObject({ code: 'database_unavailable' });
    expect(describeFault(error)).toMatch(/^it does not answer/);
  },
);

test('a connection that a full disk refuses is waited for, and told so', () => {
  const refused = said('could not write init file: No space left on device');
  Object.assign(refused, { code: '53100', severity: 'FATAL' });
  const error = translateDatabaseError(refused);
  expect(error).toMatchObject({ code: 'database_unavailable', retryAfterSeconds: 30 });
  expect(String(error)).toContain('its disk is full');
});

test('another error without a code of its own is not told as an outage', () => {
  const error = said('cache lookup failed for relation 1');
  expect(translateDatabaseError(error)).toBe(error);
});

function said(message: string): pg.DatabaseError {
  const error = new pg.DatabaseError(message, message.length, 'error');
  return Object.assign(error, { code: 'XX000', severity: 'ERROR' });
}
