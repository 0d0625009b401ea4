import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

declare module 'vitest' {
  export interface ProvidedContext {
    /** A stopped cluster whose database `svcctl` is migrated: installations of e2e/ begin with a copy. */
    preparedCluster: string;
  }
}

/** Copies a stopped cluster. Its files keep their owner, who is the one that can run it. */
export async function copyCluster(from: string, to: string): Promise<void> {
  await promisify(execFile)('cp', ['-a', from, to]);
}
