import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** With these settings replaced objects are removed at once. */
export const quietRetention = { SVC_COLD_GRACE_SECONDS: '0' };

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
