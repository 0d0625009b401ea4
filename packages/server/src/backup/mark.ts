import { hostname } from 'node:os';
import { AppError } from '../kernel/errors.ts';
import { unlessAborted } from '../platform/work/unless-aborted.ts';
import { type Place, putText, readText } from './place.ts';

/** Says in a place who writes a backup of a database there. */
type Mark = {
  /** The id of the backup. */
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  readonly started_at: string;
};

export type OwnMark = {
  /** Throws `backup_busy` when another has put its mark in the place of this one. */
  assertOwn(signal: AbortSignal): Promise<void>;
  remove(): Promise<void>;
};

const removalMillis = 10_000;

/**
 * Marks a place for the backup with this id. The caller holds the lock of its database, so a mark that the database
 * knows (`isKnown`) was left by a run that was killed. Any other belongs to a copy of the database, which has locks of
 * its own: throws `backup_busy`. Of two copies that mark it at the same moment, the later one goes on.
 */
export async function markPlace(
  place: Place,
  { id, database }: { id: string; database: string },
  tools: { spoolDir: string; signal: AbortSignal; isKnown: (id: string) => Promise<boolean> },
): Promise<OwnMark> {
  const key = `writing/${database}`;
  const read = async (signal: AbortSignal) => parse(await readText(place, key, signal));
  const refuse = ({ host, pid, started_at }: Partial<Mark>) =>
    new AppError('backup_busy', {
      detail: `The process ${pid} of ${host} writes backups of a copy of this database to ${place.location} since ${started_at}. Give one of the two a place of its own; if that process has ended, remove ${key} there.`,
    });
  const found = await read(tools.signal);
  if (found !== null && !(await tools.isKnown(found.id ?? ''))) throw refuse(found);
  const mark: Mark = {
    id,
    host: hostname(),
    pid: process.pid,
    started_at: new Date().toISOString(),
  };
  await putText(place, { key, text: JSON.stringify(mark) }, tools);
  return {
    async assertOwn(signal) {
      const now = await read(signal);
      if (now?.id !== id) throw refuse(now ?? { host: 'another host' });
    },
    // Also a run that was interrupted removes it; where that fails, the next run knows whose it was.
    async remove() {
      const signal = AbortSignal.timeout(removalMillis);
      const work = async () => {
        if ((await read(signal))?.id === id) await place.remove(key, signal);
      };
      await unlessAborted(work(), signal).catch(() => {});
    },
  };
}

function parse(text: string | null): Partial<Mark> | null {
  if (text === null) return null;
  try {
    return JSON.parse(text) as Partial<Mark>;
  } catch {
    return {};
  }
}
