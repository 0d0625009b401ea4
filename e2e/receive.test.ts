import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useTestDatabase } from '../packages/server/test/database.ts';
import { untilLockWaits } from '../packages/server/test/one-server.ts';
import { startReceiver } from '../packages/server/test/receiver.ts';
import { useInstallation, useService } from './lib/installation.ts';
import { installReceive } from './lib/package.ts';
import { report, webhookSettings } from './lib/webhooks.ts';

// The package for receivers, as its users install it: packed, in an empty folder.

const db = useTestDatabase();
let installed: Awaited<ReturnType<typeof installReceive>>;
const installation = useInstallation('once', 'database');
const service = useService(installation, webhookSettings);
beforeAll(async () => {
  installed = await installReceive();
});
afterAll(async () => {
  await installed?.remove();
});

const run = promisify(execFile);

async function write(name: string, lines: readonly string[]): Promise<string> {
  const path = join(installed.folder, name);
  await writeFile(path, lines.join('\n'));
  return path;
}

test('the package holds what was built of it, and nothing else', async () => {
  const home = join(installed.folder, 'node_modules', '@svcctl', 'receive');
  const files = (await readdir(home, { recursive: true })).sort();
  const modules = ['error', 'index', 'once', 'receiver', 'verify'];
  const built = modules.flatMap((name) => [`dist/${name}.d.ts`, `dist/${name}.js`]);
  expect(files).toEqual(['LICENSE', 'README.md', 'dist', ...built, 'package.json']);
});

test('what the service sends is verified by a module and by a CommonJS script, and nobody else', async () => {
  const receiver = await startReceiver();
  const body = { tenant: 'TX', url: receiver.url() };
  const { json: endpoint } = await service.call('POST', '/webhook/endpoints', { body });
  const [delivery] = await report(service);
  const [request] = await receiver.waitFor(1);
  await receiver.close();
  const verifying = (secret: string) => [
    `verify(${JSON.stringify(request?.body)}, ${JSON.stringify(request?.headers)}, '${secret}')`,
    `  .then(({ id, data }) => console.log(id, data.n), ({ code }) => console.log(code));`,
  ];
  const other = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
  for (const [name, load] of [
    ['module.mjs', `import { verify } from '@svcctl/receive';`],
    ['script.cjs', `const { verify } = require('@svcctl/receive');`],
  ] as const) {
    for (const [secret, said] of [
      [endpoint.secret, `${delivery?.idempotency_key} 0\n`],
      [other, 'signature_wrong\n'],
    ]) {
      const path = await write(name, [load, ...verifying(secret)]);
      expect(await run(process.execPath, [path])).toEqual({ stdout: said, stderr: '' });
    }
  }
});

test('its types fit those of Fastify, pg and fetch, and tell what is wrong', async () => {
  const rest = {
    module: 'nodenext',
    strict: true,
    noEmit: true,
    types: ['node'],
    target: 'es2022',
  };
  const right = [
    `import { createServer } from 'node:http';`,
    `import { createReceiver, inMemory, inPostgres, verify, type Webhook } from '@svcctl/receive';`,
    `import fastify from 'fastify';`,
    `import pg from 'pg';`,
    `type Found = { score: number };`,
    `const secrets = [process.env.A, process.env.B];`,
    `const stored = createReceiver({ secrets, once: inPostgres<pg.PoolClient>(new pg.Pool()),`,
    `  handle: async ({ data }: Webhook<Found>, client) => client.query({ text: 'select $1', values: [data.score] }) });`,
    `const plain = createReceiver({ secrets: 'a', once: inMemory({ max: 1 }), handle: ({ id }) => id.length });`,
    `createServer(plain.node);`,
    `await fastify().register(stored.fastify, { path: '/webhooks' });`,
    `export const post: (request: Request) => Promise<Response> = plain.fetch;`,
    `export const data: Found = (await verify<Found>(new Uint8Array(), new Headers(), 'a')).data;`,
  ];
  const compile = async (sources: Record<string, string[]>, options: object) => {
    const written = Object.entries(sources).map(([name, lines]) => write(name, lines));
    const files = await Promise.all(written);
    const project = await write('tsconfig.json', [
      JSON.stringify({ compilerOptions: { ...rest, ...options }, files }),
    ]);
    const tsc = fileURLToPath(new URL('../node_modules/.bin/tsc', import.meta.url));
    return run(tsc, ['-p', project]).then(
      () => '',
      ({ stdout }) => stdout,
    );
  };
  const bundler = { module: 'esnext', moduleResolution: 'bundler', skipLibCheck: true };
  expect(await compile({ 'right.mts': right }, { skipLibCheck: true })).toBe('');
  expect(await compile({ 'right.ts': right }, bundler)).toBe('');
  // The declarations themselves, too, where nothing else is looked at.
  const load = `import { createReceiver } from '@svcctl/receive';`;
  const faults = await compile(
    {
      'own.mts': [load, 'createReceiver({ secrets: 1 });'],
      'own.cts': [load, 'void createReceiver;'],
    },
    { skipLibCheck: false },
  );
  expect(faults.match(/^.*error.*$/gm)).toEqual([expect.stringMatching(/own\.mts\(2,.*TS2322/)]);
});

test('of two processes one handles a webhook; when it is killed, the other does', async () => {
  const path = await write('work.mjs', [
    `import { inPostgres } from '@svcctl/receive';`,
    `import pg from 'pg';`,
    `const [, , url, isHanging] = process.argv;`,
    `const pool = new pg.Pool({ connectionString: url });`,
    `const done = await inPostgres(pool)('msg_1', async (client) => {`,
    `  await client.query('insert into done values ($1)', [process.pid]);`,
    `  console.log('begun');`,
    `  if (isHanging) await new Promise((resolve) => setInterval(resolve, 1e9));`,
    `});`,
    `console.log(done);`,
    `await pool.end();`,
  ]);
  await db.pool.query('create table done (pid int)');
  const begin = (...args: string[]) => spawn(process.execPath, [path, db.url, ...args]);
  const first = begin('hang');
  expect(String((await once(first.stdout, 'data'))[0])).toBe('begun\n');
  const others = [begin(), begin()];
  const said = others.map(async (child) => readAll(child));
  await untilLockWaits(db, 2);
  first.kill('SIGKILL');
  expect((await Promise.all(said)).sort()).toEqual(['begun\ntrue\n', 'false\n']);
  const { rows } = await db.pool.query('select pid from done');
  expect(rows.map(({ pid }) => others.some((child) => child.pid === pid))).toEqual([true]);
});

async function readAll({ stdout }: ChildProcess): Promise<string> {
  let text = '';
  for await (const piece of stdout ?? []) text += String(piece);
  return text;
}
