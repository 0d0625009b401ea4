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

/** Takes copies of the audit log: a store, or whoever else collects logs. */
export type AuditTarget = {
  /** How many entries it takes at once, at most. */
  readonly mostEntries: number;
  /** Resolves when the target has these entries for good; after a failure it may get them again, with more behind them. */
  send(entries: readonly AuditEntry[], signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
};

type Options = {
  /** Opens the target. It is done only when there is something to copy. */
  readonly open: () => Promise<AuditTarget>;
  /** The name of the target, as people read it. */
  readonly location: string;
  readonly log: Pick<Log, 'warn'>;
};

/** Copies the audit log to a target again and again, one process at a time. */
export function startAuditCopies(
  db: Queryable,
  { everyMillis, ...options }: Options & { readonly everyMillis: number },
): Repeated {
  const { location, log } = options;
  return repeat((signal) => copyAudit(db, { ...options, signal }), {
    everyMillis,
    onError: (error) => log.warn({ err: error, location }, 'the audit log could not be copied'),
  });
}

/**
 * Copies the entries that the target does not have, in the order of their chain. The place is kept when the target has
 * taken them, so that a process that is killed in between leaves entries that the next one copies again. Whoever stops it
 * finds that the target was not at fault.
 */
export async function copyAudit(
  db: Queryable,
  { open, location, signal }: Options & { signal: AbortSignal },
): Promise<void> {
  let lease = await queries.takeCopy(db, location);
  if (lease === undefined) return;
  let target: AuditTarget | undefined;
  try {
    for (let isMore = true; isMore; ) {
      signal.throwIfAborted();
      // One entry is looked for before the target is opened.
      const limit = target?.mostEntries ?? 1;
      const rows = await listAuditEntriesAfter(db, { reach: null }, { after: lease.place, limit });
      const last = rows.at(-1);
      if (last?.place == null) break;
      if (target === undefined) {
        target = await open();
        continue;
      }
      await target.send(
        rows.map((row) => toEntry(row, null)),
        signal,
      );
      lease = await queries.noteCopied(db, location, last.place);
      isMore = rows.length === limit;
    }
    await queries.endCopy(db, location, null);
  } catch (error) {
    if (signal.aborted) await queries.releaseCopy(db, location);
    else
      await queries.endCopy(db, location, error instanceof Error ? error.message : String(error));
    throw error;
  } finally {
    await target?.close();
  }
}

/** Entries as NDJSON, as `svcctl audit export` writes them. */
export function toLines(entries: readonly AuditEntry[]): string {
  return entries.map((entry) => `${JSON.stringify(entry)}\n`).join('');
}

/** A store of entries as NDJSON. An object's name says its places; what is copied again gets the same, or another. */
export function toStore(store: ObjectStore, spoolDir: string): AuditTarget {
  const path = join(spoolDir, 'audit-copy.ndjson');
  return {
    mostEntries: 5000,
    async send(entries, signal) {
      await writeFile(path, toLines(entries), { mode: 0o600 });
      await store.put(keyOf(entries), path, signal);
    },
    async close() {
      await store.close();
      await rm(path, { force: true });
    },
  };
}

/** The name of an object that `toStore` puts. */
export const copiedName = /(^|\/)\d{15}-\d{15}-[0-9a-f]{8}\.ndjson$/;

/**
 * By day and place, so that names sort as entries do. The last hash tells the logs of two databases apart, one of which is
 * a copy of the other or was set back: their places are the same, and neither may replace what the other has copied.
 */
function keyOf(entries: readonly AuditEntry[]): string {
  const [first, last] = [entries[0], entries.at(-1)];
  const ends = [first, last].map((entry) => String(entry?.place).padStart(15, '0'));
  return `audit/${first?.at.slice(0, 10)}/${ends.join('-')}-${last?.hash?.slice(0, 8)}.ndjson`;
}
