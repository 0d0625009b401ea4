import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ownCommand } from './installation.ts';

/**
 * Runs programs below a root folder of their own, which shows the files of this machine: like a container, but without
 * an image.
 */
export type Container = {
  /**
   * The command that runs svcctl in there, as root with these capabilities only, and with its files in a folder that is
   * closed to other users; without `/proc`, as in a bare chroot, if that is asked for.
   */
  command(capabilities: readonly string[], options?: { hasProc: boolean }): string[];
  close(): Promise<void>;
};

const project = fileURLToPath(new URL('../..', import.meta.url));

/**
 * As in most containers, root cannot make a user namespace in there: the kernel refuses that below a changed root.
 * Undefined if we may not mount: as an ordinary user, or as root inside a container.
 */
export async function openContainer(): Promise<Container | undefined> {
  const dir = await mkdtemp(join(tmpdir(), 'svcctl-root-'));
  const [newRoot, closed] = [join(dir, 'root'), join(dir, 'project')];
  for (const folder of [newRoot, closed]) await mkdir(folder);
  // The mounts exist only in a namespace that ends with its processes, so nothing stays mounted.
  const mount = 'mount --bind "$1" "$2" && mount --rbind / "$3" && echo mounted && exec cat';
  const holder = spawn(
    'unshare',
    ['--mount', '--', 'sh', '-c', mount, 'sh', project, closed, newRoot],
    { stdio: ['pipe', 'pipe', 'ignore'] },
  );
  const ended = once(holder, 'exit');
  const close = async () => {
    holder.stdin.end();
    await ended;
    // These folders are empty now. They must never be removed recursively: the whole file system was mounted on one of
    // them.
    for (const folder of [closed, newRoot, dir]) await rmdir(folder);
  };
  const isMounted = await Promise.race([
    once(holder.stdout, 'data').then(() => true),
    ended.then(() => false),
  ]);
  if (!isMounted) {
    await close();
    return undefined;
  }
  return {
    command: (capabilities, { hasProc } = { hasProc: true }) => [
      'nsenter',
      `--mount=/proc/${holder.pid}/ns/mnt`,
      ...(hasProc ? [] : hide(join(newRoot, 'proc'))),
      ...limitTo(['sys_chroot', ...capabilities]),
      'unshare',
      `--root=${newRoot}`,
      '--',
      ...ownCommand(closed),
    ],
    close,
  };
}

/** Words to put before a command that sees an empty folder in the place of this one. */
function hide(folder: string): string[] {
  const mount = 'mount -t tmpfs none "$0" && exec "$@"';
  return ['unshare', '--mount', '--', 'sh', '-c', mount, folder];
}

/** Words to put before a command so that root keeps only these capabilities. */
export function limitTo(capabilities: readonly string[]): string[] {
  const kept = capabilities.map((name) => `+${name}`);
  return ['setpriv', `--bounding-set=${['-all', ...kept].join(',')}`, '--'];
}
