import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { randomText } from '../kernel/ids.ts';
import { isRunning } from '../platform/is-running.ts';
import type { Log } from '../platform/log.ts';
import { repeat } from '../platform/work/repeat.ts';

/** The origin at which this machine reaches the service. Not all can connect to a wildcard address: `localhost`. */
export function originOf(host: string, address: Pick<AddressInfo, 'port'>): string {
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${address.port}`;
}

const lookMillis = 5000;
const answerMillis = 2000;

/**
 * Writes `service.json`, from which commands on this machine learn the URL of the service. When another service has
 * started on this folder since, the file is that one's; once that one has ended, however it ended, it is written again.
 * The result ends that and removes the file.
 */
export async function announce(
  dataDir: string,
  url: string,
  { log, everyMillis = lookMillis }: { log: Log; everyMillis?: number },
): Promise<() => Promise<void>> {
  const path = join(dataDir, 'service.json');
  const text = `${JSON.stringify({ url, pid: process.pid })}\n`;
  const read = () => readFile(path, 'utf8').catch(() => '');
  const other = await findLive(await read());
  if (other !== null) {
    log.warn(
      other,
      'another svcctl serve runs on this data folder: commands on this machine now go to this one',
    );
  }
  // Whoever read half a file would find no service, and one that watches it would write its own over it.
  const draft = `${path}.${randomText(12)}`;
  const write = async () => {
    await writeFile(draft, text);
    await rename(draft, path);
  };
  await write();
  const watching = repeat(
    async () => {
      const now = await read();
      if (now !== text && (await findLive(now)) === null) await write();
    },
    { everyMillis, onError: (error) => log.warn({ err: error }, `${path} cannot be written`) },
  );
  return async () => {
    await watching.stop();
    if ((await read()) === text) await rm(path, { force: true });
  };
}

/** Whether a service of ours serves there, and as which process, where it serves this data folder; null: none does. */
export async function findServiceAt(
  dataDir: string,
  host: string,
  port: number,
): Promise<{ pid: number | null } | null> {
  const announced = await findAnnounced(dataDir);
  const origin = originOf(host, { port });
  if (announced?.url === origin) return announced;
  const answer = await fetch(`${origin}/healthz`, {
    signal: AbortSignal.timeout(answerMillis),
  }).catch(() => null);
  return answer?.headers.get('x-request-id')?.startsWith('req_') ? { pid: null } : null;
}

/** Whether a service on the data folder runs and answers. */
export async function isServed(dataDir: string): Promise<boolean> {
  return (await findAnnounced(dataDir)) !== null;
}

/** What the service that serves a data folder has announced; null: none runs and answers. */
async function findAnnounced(dataDir: string): Promise<{ url: string; pid: number } | null> {
  return findLive(await readFile(join(dataDir, 'service.json'), 'utf8').catch(() => ''));
}

/** Returns what such a file says if the service that wrote it still runs and answers; otherwise null. */
async function findLive(text: string): Promise<{ url: string; pid: number } | null> {
  try {
    const { url, pid } = JSON.parse(text) as { url: string; pid: number };
    // Since a restart of the machine, another program may have the number.
    if (!isRunning(pid)) return null;
    const { ok } = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(answerMillis) });
    return ok ? { url, pid } : null;
  } catch {
    return null;
  }
}
