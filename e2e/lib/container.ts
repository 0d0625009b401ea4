import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A root folder of its own over the files of this machine: what makes a container, without its image. */
export type Container = {
  /** Put before a program: runs it in there, as root with these capabilities and no other. */
  words(capabilities: readonly string[]): string[];
  close(): Promise<void>;
};

/**
 * As in containers, root can make no user namespace in there: the kernel refuses it within a changed
 * root. Undefined for whoever may not mount: ordinary users, and root where it is contained already.
 */
export async function openContainer(): Promise<Container | undefined> {
  const dir = await mkdtemp(join(tmpdir(), 'svcctl-root-'));
  // The mount is seen in a namespace alone that ends with its processes: nothing can be left mounted.
  const mount = 'mount --rbind / "$1" && echo mounted && exec cat';
  const holder = spawn('unshare', ['--mount', '--', 'sh', '-c', mount, 'sh', dir], {
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const ended = once(holder, 'exit');
  const isMounted = await Promise.race([
    once(holder.stdout, 'data').then(() => true),
    ended.then(() => false),
  ]);
  if (!isMounted) {
    await rmdir(dir);
    return undefined;
  }
  return {
    words: (capabilities) => [
      'nsenter',
      `--mount=/proc/${holder.pid}/ns/mnt`,
      ...limitTo(['sys_chroot', ...capabilities]),
      'unshare',
      `--root=${dir}`,
      '--',
    ],
    async close() {
      holder.stdin.end();
      await ended;
      await rmdir(dir);
    },
  };
}

/** Put before a program: root is left with these capabilities. */
export function limitTo(capabilities: readonly string[]): string[] {
  const kept = capabilities.map((name) => `+${name}`);
  return ['setpriv', `--bounding-set=${['-all', ...kept].join(',')}`, '--'];
}
