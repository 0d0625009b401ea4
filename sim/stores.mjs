import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { startProxy } from './proxy.mjs';

/**
 * A store of cold data: what the service is told of it, how it is disturbed, and what lies there. One in a folder is
 * disturbed within the processes that use it, by shim.mjs.
 */
export function openFolder(dir) {
  mkdirSync(dir);
  return {
    url: `file://${dir}`,
    environment: {},
    /** What each process is told to do to its own calls: see shim.mjs. */
    shimmed: { store: dir },
    objects: async () => listFiles(join(dir, 'records'), 'records'),
  };
}

/** One on an S3 server, which is reached through a proxy of its own. */
export async function openS3(scope, real, prefix) {
  const { port } = new URL(real.endpoint);
  const proxy = await startProxy(scope, () => Number(port));
  const at = `${real.own}/${prefix}/`;
  return {
    url: real.urlOf(prefix, `http://127.0.0.1:${proxy.port}`),
    environment: real.environment,
    shimmed: { store: '' },
    objects: async () => (await real.list(`${at}records/`)).map((key) => key.slice(at.length)),
    /** Slow, deaf, or killed and started again; answers how it is mended. */
    async disturb({ storeDelayMillis, storeError }) {
      if (storeDelayMillis !== undefined) proxy.slow(storeDelayMillis);
      else if (storeError === 'ETIMEDOUT') proxy.deafen();
      else {
        await real.server.kill();
        return () => real.server.restart();
      }
      return () => proxy.heal();
    },
  };
}

function listFiles(folder, prefix) {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.parquet'))
      .map((entry) => join(prefix, join(entry.parentPath, entry.name).slice(folder.length + 1)));
  } catch {
    return [];
  }
}
