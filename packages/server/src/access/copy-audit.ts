import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../platform/log.ts';
import type { ObjectStore } from '../platform/objects/objects.ts';
import type { Queryable } from '../platform/postgres/database.ts';
import { type Repeated, repeat } from '../platform/work/repeat.ts';
import { toEntry } from './audit.ts';
import { listAuditEntriesAfter } from './audit-queries.ts';
import type { AuditEntry } from './contract.ts';
import * as queries from './copy-queries.ts';

/** Entries that one object has, at most. */
const mostEntries = 5000;
const everyMillis = 10_000;

type Options = {
  /** Opens the store that takes the copies. It is done only when there is something to copy. */
  readonly openStore: () => Promise<ObjectStore>;
  /** The name of the store, as people read it. */
  readonly location: string;
  readonly spoolDir: string;
  readonly log: Pick<Log, 'warn'>;
};

/** Copies the audit log to a store every ten seconds, one process at a time. */
export function startAuditCopies(db: Queryable, options: Options): Repeated {
  return repeat((signal) => copyAudit(db, { ...options, signal }), {
    everyMillis,
    onError: (error) => options.log.warn({ err: error }, 'the audit log could not be copied'),
  });
}

/**
 * Copies the entries that the store does not have, as NDJSON in the order of their chain, as `svcctl audit export` writes
 * them. The name of an object says which places it has. The position is kept when the object is whole, so that a process
 * that is killed in between leaves entries that the next one copies again, into another object or the same. Whoever stops
 * it finds that the store was not at fault.
 */
export async function copyAudit(
  db: Queryable,
  { openStore, location, spoolDir, signal }: Options & { signal: AbortSignal },
): Promise<void> {
  let lease = await queries.takeCopy(db, location);
  if (lease === undefined) return;
  const path = join(spoolDir, 'audit-copy.ndjson');
  let store: ObjectStore | undefined;
  try {
    for (let count = mostEntries; count === mostEntries; ) {
      signal.throwIfAborted();
      const after = { after: lease.place, limit: mostEntries };
      const entries = await listAuditEntriesAfter(db, { reach: null }, after);
      count = entries.length;
      const [first, last] = [entries[0], entries.at(-1)];
      if (first?.place == null || last?.place == null) break;
      const lines = entries.map((entry) => `${JSON.stringify(toEntry(entry, null))}\n`);
      await writeFile(path, lines.join(''), { mode: 0o600 });
      store ??= await openStore();
      await store.put(keyOf(first, last), path, signal);
      lease = await queries.noteCopied(db, location, last.place);
    }
    await queries.endCopy(db, location, null);
  } catch (error) {
    if (signal.aborted) await queries.releaseCopy(db, location);
    else
      await queries.endCopy(db, location, error instanceof Error ? error.message : String(error));
    throw error;
  } finally {
    await store?.close();
    await rm(path, { force: true });
  }
}

/**
 * By day and place, so that names sort as entries do. The last hash tells the logs of two databases apart, one of which is
 * a copy of the other or was set back: their places are the same, and neither may replace what the other has copied.
 */
function keyOf(first: AuditEntry, last: AuditEntry): string {
  const ends = [first, last].map(({ place }) => String(place).padStart(15, '0'));
  return `audit/${first.at.slice(0, 10)}/${ends.join('-')}-${last.hash?.slice(0, 8)}.ndjson`;
}
