import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { useFolder } from '../../test/folder.ts';
import type { Log } from '../platform/log.ts';
import { announce, findServiceAt } from './announce.ts';

const dataDir = useFolder();
let warned: object[];
const log = { warn: (fields: object) => warned.push(fields) } as unknown as Log;
const servers: Server[] = [];

beforeEach(async () => {
  warned = [];
});
afterEach(async () => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

/** What answers as a service does that runs; both are of this process, which lives. */
async function startService() {
  const server = createServer((_request, response) => response.end('{}')).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, end: await announce(dataDir.path, url, { log, everyMillis: 10 }) };
}
const noted = async () =>
  JSON.parse(await readFile(join(dataDir.path, 'service.json'), 'utf8').catch(() => 'null'))?.url;

test('of two services of a folder the second says that another runs, and the first is found after its end', async () => {
  const first = await startService();
  expect(warned).toEqual([]);
  const second = await startService();
  expect(warned).toEqual([{ url: first.url, pid: process.pid }]);
  expect(await noted()).toBe(second.url);
  await second.end();
  await expect.poll(noted).toBe(first.url);
  await first.end();
  expect(await noted()).toBeUndefined();
});

test('a service on the folder is found at its address, one of another folder by its answer, and no other program', async () => {
  const { url, end } = await startService();
  const find = () => findServiceAt(dataDir.path, '127.0.0.1', Number(new URL(url).port));
  expect(await find()).toMatchObject({ pid: process.pid });
  // Another one may have the port at another address.
  expect(await findServiceAt(dataDir.path, 'localhost', Number(new URL(url).port))).toBeNull();
  await end();
  expect(await find()).toBeNull();
  servers[0]?.prependListener('request', (_request, response) =>
    response.setHeader('x-request-id', 'req_1'),
  );
  expect(await find()).toEqual({ pid: null });
});

test('whoever reads the file while it is written anew finds one service or the other', async () => {
  const urls = ['http://127.0.0.1:1', 'http://127.0.0.1:2'];
  const ends = [await announce(dataDir.path, 'http://127.0.0.1:1', { log })];
  let isWriting = true;
  const read = async (): Promise<void> => {
    expect(urls).toContain(await noted());
    if (isWriting) await read();
  };
  const write = async () => {
    for (let n = 1; n <= 50; n += 1) {
      ends.push(await announce(dataDir.path, urls[n % 2] ?? '', { log }));
    }
    isWriting = false;
  };
  await Promise.all([read(), write()]);
  for (const end of ends) await end();
});

test('the first is found again when the second was killed, too', async () => {
  const first = await startService();
  // No process has the greatest number there is.
  await writeFile(join(dataDir.path, 'service.json'), `{"url":"${first.url}","pid":4194305}\n`);
  await expect
    .poll(() => readFile(join(dataDir.path, 'service.json'), 'utf8'))
    .toContain(`${process.pid}`);
  await first.end();
});

test('a file that a service left which is no more is not told', async () => {
  await writeFile(
    join(dataDir.path, 'service.json'),
    `{"url":"http://127.0.0.1:9","pid":${process.pid}}\n`,
  );
  const first = await startService();
  expect(warned).toEqual([]);
  await first.end();
});

test('a service of another user, who lets nobody signal it, is told', async () => {
  const first = await startService();
  vi.spyOn(process, 'kill').mockImplementation(() => {
    throw Object.assign(new Error('kill EPERM'), { code: 'EPERM' });
  });
  const second = await startService();
  vi.restoreAllMocks();
  expect(warned).toEqual([{ url: first.url, pid: process.pid }]);
  await second.end();
  await first.end();
});
