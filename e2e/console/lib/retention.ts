import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Service } from '../../lib/installation.ts';
import { waitFor } from '../../lib/wait-for.ts';

/** With these settings replaced objects are removed at once. */
export const quietRetention = { SVC_COLD_GRACE_SECONDS: '0' };

/** Runs what the policies say and waits for its end. */
export async function runRetention(service: Service, tenant?: string): Promise<void> {
  const body = tenant === undefined ? {} : { tenant };
  const started = await service.call('POST', '/retention/run', { body });
  expect(started.status, started.text).toBe(202);
  const run = await waitFor('the retention run', async () => {
    const answer = await service.call('GET', `/retention/runs/${started.json.id}`);
    const isOpen = ['queued', 'running'].includes(answer.json.state);
    return isOpen ? undefined : answer.json;
  });
  expect(run).toMatchObject({ state: 'completed', failed_moves: 0 });
}

/** Changes one byte in the middle of an object of the tenant. */
export async function flipByte(dataDir: string, tenant: string): Promise<void> {
  const folder = join(dataDir, 'cold', 'records', `tenant=${tenant}`);
  const name = (await readdir(folder)).find((each) => each.endsWith('.parquet'));
  if (name === undefined) throw new Error(`${folder} holds no object`);
  const bytes = await readFile(join(folder, name));
  const middle = Math.floor(bytes.length / 2);
  bytes[middle] = (bytes[middle] ?? 0) ^ 0xff;
  await writeFile(join(folder, name), bytes);
}
