import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { use } from './use.ts';

/** An empty folder for each test of a file, or for all of them. */
export function useFolder(when: 'once' | 'each' = 'each'): { readonly path: string } {
  return use(
    async () => ({ path: await newFolder() }),
    // A service that was interrupted while it started may be making its folders still.
    ({ path }) => rm(path, { recursive: true, force: true, maxRetries: 5 }),
    when,
  );
}

export function newFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'svcctl-test-'));
}
