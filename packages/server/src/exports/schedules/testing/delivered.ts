import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Returns the ids of all events of NDJSON in those folders of a place that have their marker, in their order. */
export async function idsIn(place: string): Promise<string[]> {
  const ids: string[] = [];
  for (const folder of await readdir(place).catch(() => [])) {
    const names = await readdir(join(place, folder));
    if (!names.includes('_SUCCESS')) continue;
    for (const name of names.filter((each) => each.startsWith('part-'))) {
      const lines = (await readFile(join(place, folder, name), 'utf8')).trim().split('\n');
      ids.push(...lines.map((line) => JSON.parse(line).event_id));
    }
  }
  return ids.sort();
}

/** The ids of so many events of a kind. */
export const idsOf = (kind: string, count: number): string[] =>
  Array.from({ length: count }, (_, n) => `${kind}-${n}`);
