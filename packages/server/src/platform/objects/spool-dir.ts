import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Makes a folder for one process below `parent`, and clears away those of processes that are gone: what
 * a killed one was writing is of no use to anybody.
 */
export async function makeSpoolDir(parent: string): Promise<string> {
  await mkdir(parent, { recursive: true, mode: 0o700 });
  for (const name of await readdir(parent)) {
    const dir = join(parent, name);
    if (await isLeftOver(dir, Number.parseInt(name, 10))) {
      await rm(dir, { recursive: true, force: true });
    }
  }
  return mkdtemp(join(parent, `${process.pid}-`));
}

async function isLeftOver(dir: string, pid: number): Promise<boolean> {
  if (Number.isNaN(pid)) return false;
  if (pid !== process.pid) return !isRunning(pid);
  // In a container the next process often has the number of the one before.
  const startedAt = Date.now() - process.uptime() * 1000;
  const made = await stat(dir).catch(() => null);
  return made !== null && made.birthtimeMs < startedAt;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it runs, as somebody else.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
