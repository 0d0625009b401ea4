import { statfs } from 'node:fs/promises';
import { hostname } from 'node:os';
import type { Clock } from '../kernel/clock.ts';
import { newId } from '../kernel/ids.ts';
import { keepFor } from '../kernel/once.ts';
import type { StoreState } from '../kernel/values.ts';
import type { Log } from '../platform/log.ts';
import type { Database } from '../platform/postgres/database.ts';
import { newestMigration } from '../platform/postgres/migrate.ts';
import { type Repeated, repeat } from '../platform/work/repeat.ts';
import { forgetProcesses, removeProcess, writeBeat } from './queries.ts';
import type { ProcessCommand } from './values.ts';

/** What a process tells the others of itself. */
export type About = {
  readonly version: string;
  readonly command: ProcessCommand;
  readonly roles: readonly string[];
  /** Those of its settings that all processes on a database should share; nothing secret. */
  readonly settings: Readonly<Record<string, string>>;
  readonly dataDir: string;
};

/** That this process is known to the others: in the table `processes`, from its first beat to its stop. */
export type Presence = {
  readonly id: string;
  /** Begins to say that this process lives, and where it listens. The first beat is written before this returns. */
  start(url: string | null): Promise<void>;
  /** Says now how this process is. */
  poke(): void;
  /** Ends that, and removes what was said. */
  stop(): Promise<void>;
};

/** Every so many beats, processes that are long gone are forgotten. */
const beatsToForget = 60;
/** A folder on a file system that hangs is not waited for. */
const diskMillis = 1000;
/** An answer that took longer says little about the difference of two clocks. */
const clockMillis = 1000;

/**
 * Makes the presence of this process. A beat is one small statement every `beatMillis`, on whatever connection of the
 * pool is free: a process that has none for so long is told as silent, which is what its callers see, too.
 */
export function createPresence(
  db: Database,
  parts: {
    about: About;
    /** How it sees the store of cold data; null when it does not use it. */
    storeState: () => StoreState | null;
    /** Looks which keys of webhook secrets there are now, the one that seals first. */
    secretKeys: () => Promise<readonly string[]>;
    clock: Clock;
    log: Log;
    beatMillis: number;
  },
): Presence {
  const { about, storeState, secretKeys, clock, log, beatMillis } = parts;
  const id = newId('prc');
  const findDisk = keepFor(() => measureDisk(about.dataDir), {
    keepMillis: 0,
    limitMillis: diskMillis,
    late: () => unknownDisk,
  });
  let clockAheadMillis: number | null = null;
  let beats = 0;
  let hasFailed = false;
  let listensAt: string | null = null;
  let migration: string | undefined;

  async function beat(): Promise<void> {
    migration ??= await newestMigration();
    const { version, command, roles, settings } = about;
    const disk = await findDisk();
    const keys = await secretKeys();
    const startedAt = performance.now();
    const begun = clock();
    const databaseMillis = await writeBeat(db, {
      id,
      host: hostname(),
      pid: process.pid,
      version,
      migration,
      node: process.version,

      command,
      roles,
      url: listensAt,
      settings,
      secretKeys: keys,
      clockAheadMillis,
      ...disk,
      storeState: storeState(),
    });
    const tookMillis = performance.now() - startedAt;
    // The database told the time somewhere between the call and its answer. The next beat says what came of it.
    if (tookMillis < clockMillis) {
      clockAheadMillis = Math.round(begun + tookMillis / 2 - databaseMillis);
    }
    if (beats % beatsToForget === 0) await forgetProcesses(db);
    beats += 1;
    if (hasFailed) log.info('other processes see again that this one lives');
    hasFailed = false;
  }

  function tell(error: unknown): void {
    // Whatever else needs the database says so as well: once is enough here.
    if (!hasFailed) log.warn({ err: error }, 'other processes cannot see that this one lives');
    hasFailed = true;
  }

  let beating: Repeated | undefined;
  return {
    id,
    async start(url) {
      listensAt = url;
      beating = repeat(beat, { everyMillis: beatMillis, onError: tell });
      // The second one tells how far the clocks differ.
      await beat().then(beat).catch(tell);
    },
    poke: () => beating?.poke(),
    async stop() {
      await beating?.stop();
      if (beats === 0) return;
      // Without a database nobody is there to be told; the row is told as gone until it is forgotten.
      await removeProcess(db, id).catch((error) => log.debug({ err: error }, 'not signed off'));
    },
  };
}

type Disk = { diskFreeBytes: number | null; diskTotalBytes: number | null };
const unknownDisk: Disk = { diskFreeBytes: null, diskTotalBytes: null };

async function measureDisk(folder: string): Promise<Disk> {
  try {
    const { bsize, bavail, blocks } = await statfs(folder);
    return { diskFreeBytes: bavail * bsize, diskTotalBytes: blocks * bsize };
  } catch {
    return unknownDisk;
  }
}
