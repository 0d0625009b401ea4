import { statfs } from 'node:fs/promises';
import type { FigureSource } from './figures.ts';

/** Tells how much room the file systems of these folders have. A folder that cannot be asked is left out. */
export function diskFigures(
  folders: Readonly<Record<string, string>>,
): FigureSource<'svcctl_disk_free_bytes' | 'svcctl_disk_size_bytes'> {
  return {
    name: 'disk',
    gauges: {
      svcctl_disk_free_bytes: {
        help: 'What the service may still write to the file system of a folder: the data folder, the spool folder, or the store of cold data when it is a folder.',
        label: 'folder',
      },
      svcctl_disk_size_bytes: { help: 'The size of that file system.', label: 'folder' },
    },
    async read() {
      const [free, size]: Record<string, number>[] = [{}, {}];
      for (const [name, path] of Object.entries(folders)) {
        const found = await statfs(path).catch(() => null);
        if (found === null) continue;
        Object.assign(free ?? {}, { [name]: found.bavail * found.bsize });
        Object.assign(size ?? {}, { [name]: found.blocks * found.bsize });
      }
      return { svcctl_disk_free_bytes: free ?? {}, svcctl_disk_size_bytes: size ?? {} };
    },
  };
}
