import { readFile, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

/**
 * Returns the origin under which this machine reaches the service. A wildcard address cannot be connected to
 * everywhere, so it becomes `localhost`.
 */
export function originOf(host: string, address: AddressInfo): string {
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${address.port}`;
}

/**
 * Writes `service.json`, from which commands on this machine learn the URL of the service. The result removes the file
 * again.
 */
export async function announce(dataDir: string, url: string): Promise<() => Promise<void>> {
  const path = join(dataDir, 'service.json');
  const text = `${JSON.stringify({ url, pid: process.pid })}\n`;
  await writeFile(path, text);
  return async () => {
    // Another service may have started on this folder and have written its own file since: that one stays.
    if ((await readFile(path, 'utf8').catch(() => '')) === text) await rm(path, { force: true });
  };
}
