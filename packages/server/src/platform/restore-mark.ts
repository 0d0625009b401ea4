import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { AppError } from '../kernel/errors.ts';
import { isRunning } from './is-running.ts';
import { databaseOf } from './postgres/open-database.ts';
import { syncFolder } from './sync-folder.ts';

/** What the file says of the restore that has begun in a data folder. `pid` is null once it was broken off by an error. */
type Mark = {
  id: string;
  place: string;
  /** The database that is restored into; null: the own one of the data folder. */
  database: string | null;
  host: string;
  pid: number | null;
  since: string;
};

/** Where a service, or a restore, keeps its data. */
export type DataPlace = { readonly dataDir: string; readonly databaseUrl?: string | undefined };

const databaseIn = ({ databaseUrl }: DataPlace) =>
  databaseUrl === undefined ? null : databaseOf(databaseUrl);
const fileOf = (dataDir: string) => join(dataDir, 'restoring');

/**
 * Marks a data folder as amid a restore, so that nothing else begins there. A restore that is killed leaves its mark;
 * the next one replaces it. `breakOff` says that it has ended before its time, `remove` that its database is whole.
 */
export async function markRestore(into: DataPlace, of: Pick<Mark, 'id' | 'place'>) {
  const path = fileOf(into.dataDir);
  const mark: Mark = {
    ...{ ...of, database: databaseIn(into) },
    ...{ host: hostname(), pid: process.pid, since: new Date().toISOString() },
  };
  const textOf = (one: Mark) => `${JSON.stringify(one)}\n`;
  const write = async (one: Mark) => {
    const draft = `${path}.${process.pid}`;
    await writeFile(draft, textOf(one), { mode: 0o600, flush: true });
    await rename(draft, path);
  };
  await write(mark);
  // Who has lost the lock of restores may find the mark of the one that goes on.
  const isOwn = async () => (await readFile(path, 'utf8').catch(() => '')) === textOf(mark);
  return {
    async breakOff() {
      if (await isOwn()) await write({ ...mark, pid: null });
    },
    async remove() {
      if (!(await isOwn())) return;
      await rm(path);
      // The database is whole from here on: no power cut may bring the mark back.
      await syncFolder(into.dataDir);
    },
  };
}

/**
 * Why nothing else may use a data folder with its database, and what to do; null where no restore has begun there. One
 * into another database is not its concern.
 */
export async function findRestore(
  own: DataPlace,
): Promise<{ text: string; remedy: string } | null> {
  const { dataDir } = own;
  const path = fileOf(dataDir);
  const written = await readFile(path, 'utf8').catch(() => null);
  if (written === null) return null;
  const { id, place, database, host, pid, since } = JSON.parse(written) as Mark;
  if (database !== databaseIn(own)) return null;
  const isHere = host === hostname();
  const goesOn = pid !== null && (!isHere || isRunning(pid));
  const how = goesOn
    ? `goes on as process ${pid}${isHere ? '' : ` of ${host}`} since ${since}`
    : 'was broken off';
  const again = `run the same svcctl restore again, which goes on (--id ${id})`;
  return {
    text: `the data folder ${dataDir} is half restored: the restore of ${id} out of ${place} ${how}`,
    remedy: goesOn
      ? `Wait until it has ended. If that process is none any more, ${again}.`
      : `${again.replace('run', 'Run')}. To give it up, take an empty folder and database; or empty these, and remove ${path} last.`,
  };
}

/** Throws `database_unusable` where a restore into the data folder has not ended. */
export async function refuseRestore(own: DataPlace): Promise<void> {
  const found = await findRestore(own);
  if (found === null) return;
  const { text, remedy } = found;
  throw new AppError('database_unusable', { detail: `${text.replace('the', 'The')}. ${remedy}` });
}
