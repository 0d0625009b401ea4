import { folderOf, manifestKey } from './manifest.ts';
import { listBackups, type Place, readManifest } from './place.ts';
import { eachNeeded, type ReadTools } from './read-files.ts';

/**
 * Removes all but the newest `keep` backups of a database, and then what none of its others needs, also what killed runs
 * have left. The backup `own` stays, whatever a clock has said of others. Manifests go first: after a kill the next run removes the rest. The caller holds the lock of the database, so
 * that nobody brings what is removed here. Throws `backup_damaged`, before anything is removed, when a backup that stays
 * does not tell what it needs.
 */
export async function prune(
  tools: ReadTools,
  { database, own, keep }: { database: string; own: string; keep: number },
): Promise<{ removed: number }> {
  const { place, signal } = tools;
  const names = await listBackups(place, signal, { database });
  names.sort((a, b) => Number(a.id === own) - Number(b.id === own));
  const staying = await Promise.all(
    names.slice(-keep).map((name) => readManifest(place, name, signal)),
  );
  const needed = new Set<string>();
  for (const manifest of staying) {
    for await (const { key } of eachNeeded(manifest, tools)) needed.add(key);
  }
  const going = names.slice(0, -keep);
  for (const name of going) await place.remove(manifestKey(name), signal);
  for (const kind of ['objects', 'tables'] as const) {
    await removeOthers(place, `${folderOf(kind, database)}/`, needed, signal);
  }
  return { removed: going.length };
}

async function removeOthers(
  place: Place,
  prefix: string,
  needed: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<void> {
  for await (const { key } of place.list(prefix, signal)) {
    if (!needed.has(key)) await place.remove(key, signal);
  }
}
