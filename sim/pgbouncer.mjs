import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { listen } from '../bench/lib/listen.mjs';

/** Starts the pgbouncer that is on the PATH before the PostgreSQL of `port`. Answers its port. */
export async function startPgbouncer(scope, { place, user, password, port, settings }) {
  const own = await freePort();
  const lines = Object.entries({
    listen_addr: '127.0.0.1',
    listen_port: own,
    unix_socket_dir: '',
    auth_type: 'plain',
    auth_file: join(place, 'users.txt'),
    default_pool_size: 40,
    ...settings,
  }).map(([name, value]) => `${name} = ${value}`);
  writeFileSync(join(place, 'users.txt'), `"${user}" "${password}"\n`);
  writeFileSync(
    join(place, 'pgbouncer.ini'),
    ['[databases]', `* = host=127.0.0.1 port=${port}`, '[pgbouncer]', ...lines, ''].join('\n'),
  );
  const asUser = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  const child = spawn('pgbouncer', ['-q', ...asUser, join(place, 'pgbouncer.ini')], {
    stdio: 'ignore',
  });
  const exited = new Promise((resolve) => {
    child.once('exit', resolve);
    child.once('error', resolve);
  });
  scope.defer(async () => {
    child.kill('SIGINT');
    const late = setTimeout(() => child.kill('SIGKILL'), 5000);
    await exited;
    clearTimeout(late);
  });
  return own;
}

async function freePort() {
  const server = createServer();
  const { port } = new URL(await listen(server));
  await new Promise((resolve) => server.close(resolve));
  return Number(port);
}
