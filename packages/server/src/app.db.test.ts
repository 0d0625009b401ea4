import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import pino from 'pino';
import { expect, test } from 'vitest';
import { createTestDatabase } from '../test/database.ts';
import { startTestService } from '../test/service.ts';

const settings = { SVC_SHUTDOWN_SECONDS: '3', SVC_EXPORT_STALL_SECONDS: '3600' };
let failures: string[] = [];
const log = () => {
  failures = [];
  return pino({ level: 'error' }, { write: (line: string) => void failures.push(line) });
};
/** More than the buffers between the service and its reader hold. */
const records = Array.from({ length: 240 }, (_, n) => ({
  tenant: 'T',
  store: 'S',
  event_id: `e${n}`,
  occurred_at: '2001-01-01T00:00:00Z',
  enrichment: { text: 'x'.repeat(60_000) },
}));

test('ends in its time although the reader of an export has stalled', async () => {
  const service = await startTestService(settings, log());
  await service.call('POST', '/enrichment/records', { body: { records } });
  const { hostname, port } = new URL(service.url);
  const reader = connect(Number(port), hostname).on('error', () => {});
  const body = '{"tenant":"T"}';
  reader.write(
    `POST /api/v1/exports/csv HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${service.adminToken}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  await once(reader, 'readable');
  await service.stop();
  expect(failures.join()).not.toContain('not everything ended');
  // Reset rather than ended: what arrived cannot look whole.
  let text = '';
  for await (const chunk of reader.setEncoding('latin1')) text += chunk;
  expect(text).not.toContain('repr-digest: sha-256');
});

test('ends in its time although the database does not answer any more', async () => {
  const db = await createTestDatabase();
  const link = await startLink(db.url);
  const service = await startTestService({ ...settings, DATABASE_URL: link.url }, log());
  link.freeze();
  const asking = service.call('GET', '/me').catch(() => null);
  await service.stop();
  expect(failures.join()).not.toContain('not everything ended');
  await asking;
  await link.close();
  await db.drop();
});

/** A way to a database that can be held up: connections stay, nothing passes. */
async function startLink(databaseUrl: string) {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let isFrozen = false;
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('error', () => {}).on('close', () => to.destroy());
      from.on('data', (data) => {
        if (!isFrozen) to.write(data);
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('not listening');
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${address.port}`;
  return {
    url: url.href,
    freeze: () => {
      isFrozen = true;
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}
