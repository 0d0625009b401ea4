import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanEnvironment, startChild, untilReady } from './child.mjs';
import { programPath } from './product.mjs';

/**
 * `svcctl serve` as a child process on the given database, its data folder in `dir` under `name`. The
 * first service of a database makes its admin token; a further one is given it. `program` is what Node is given instead of
 * the program.
 *
 * @param {any} scope
 * @param {{ dir: string, name: string, databaseUrl: string, token?: string, settings?: Record<string, string>,
 *   program?: string[], onMessage?: (message: any) => void }} options
 */
export async function startService(
  scope,
  { dir, name, databaseUrl, token, settings = {}, program = [programPath], onMessage },
) {
  const dataDir = join(dir, name);
  mkdirSync(dataDir, { recursive: true });
  const child = startChild(
    scope,
    [...program, 'serve'],
    cleanEnvironment({
      DATABASE_URL: databaseUrl,
      SVC_DATA_DIR: dataDir,
      SVC_PORT: '0',
      SVC_RATE_LIMIT: '0',
      SVC_LOG_LEVEL: 'warn',
      // Processes that share a database share it.
      SVC_SECRET_KEY: 'a key that all processes of the bench share',
      ...settings,
    }),
    onMessage,
  );
  const origin = await untilReady(child, () => readyOrigin(dataDir));
  return {
    pid: child.pid,
    send: child.send,
    origin,
    token: token ?? readFileSync(join(dataDir, 'admin-token'), 'utf8').trim(),
  };
}

/** The service says where it is in `service.json`. */
async function readyOrigin(dataDir) {
  try {
    const { url } = JSON.parse(readFileSync(join(dataDir, 'service.json'), 'utf8'));
    const { ok } = await fetch(`${url}/readyz`);
    return ok ? url : undefined;
  } catch {
    return undefined;
  }
}
