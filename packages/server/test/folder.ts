import { mkdtempSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { use } from './use.ts';

const prefix = join(tmpdir(), 'svcctl-test-');

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
  return mkdtemp(prefix);
}

/** The path of an empty folder for all tests of a file, which is there before the first of them begins. */
export function madeFolder(): string {
  const path = mkdtempSync(prefix);
  afterAll(() => rm(path, { recursive: true, force: true, maxRetries: 5 }));
  return path;
}
