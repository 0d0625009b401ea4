import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ownCommand } from './installation.ts';

/** A root folder of its own over the files of this machine: what makes a container, without its image. */
export type Container = {
  /** svcctl in there, as root with these capabilities and no other, its files in a folder closed to others. */
  command(capabilities: readonly string[]): string[];
  close(): Promise<void>;
};

const project = fileURLToPath(new URL('../..', import.meta.url));

/**
 * As in containers, root can make no user namespace in there: the kernel refuses it within a changed
 * root. Undefined for whoever may not mount: ordinary users, and root where it is contained already.
 */
export async function openContainer(): Promise<Container | undefined> {
  const dir = await mkdtemp(join(tmpdir(), 'svcctl-root-'));
  const [newRoot, closed] = [join(dir, 'root'), join(dir, 'project')];
  for (const folder of [newRoot, closed]) await mkdir(folder);
  // The mounts are seen in a namespace alone that ends with its processes: nothing is left mounted.
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
    // They are empty. Never recursively: all of this machine was mounted on one of them.
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
    command: (capabilities) => [
      'nsenter',
      `--mount=/proc/${holder.pid}/ns/mnt`,
      ...limitTo(['sys_chroot', ...capabilities]),
      'unshare',
      `--root=${newRoot}`,
      '--',
      ...ownCommand(closed),
    ],
    close,
  };
}

/** Put before a program: root is left with these capabilities. */
export function limitTo(capabilities: readonly string[]): string[] {
  const kept = capabilities.map((name) => `+${name}`);
  return ['setpriv', `--bounding-set=${['-all', ...kept].join(',')}`, '--'];
}
