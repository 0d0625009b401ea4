import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Makes a folder and those above it, and returns the first that was not there; undefined when all were. The recursive
 * `mkdir` of Node never ends where the system says of a folder in one that is there that it is missing, as below `/proc`.
 */
export async function makeFolders(path: string, mode = 0o777): Promise<string | undefined> {
  const make = async () => {
    try {
      await mkdir(path, { mode });
      return path;
    } catch (error) {
      // Another process may have made it at the same moment.
      const found = await stat(path).catch((fault: unknown) => {
        // What is there cannot be looked at, for a while perhaps: that is no file in the place of a folder.
        throw codeOf(error) === 'EEXIST' && codeOf(fault) !== 'ENOENT' ? fault : error;
      });
      if (!found.isDirectory()) throw error;
      return undefined;
    }
  };
  try {
    return await make();
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' || dirname(path) === path) throw error;
    const first = await makeFolders(dirname(path), mode);
    const made = await make();
    return first ?? made;
  }
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code;
