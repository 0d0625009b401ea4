import { createHmac, timingSafeEqual } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../kernel/errors.ts';
import { randomText } from '../kernel/ids.ts';
import type { Log } from '../platform/log.ts';
import type { Database, Queryable } from '../platform/postgres/database.ts';
import { type Repeated, repeat } from '../platform/work/repeat.ts';
import type { AuditChain } from './audit-queries.ts';
import type { Seal } from './seal-queries.ts';
import * as queries from './seal-queries.ts';

// A chain of hashes proves nothing against somebody who can write to the database and compute all of them anew. So a
// process signs both ends of it with a key that the database does not hold, and notes the newest place in its data
// folder. One MAC covers all entries before it, because each hash follows from the one before.

const fileName = 'audit-seal';

type SealKey = { readonly id: string; readonly key: Buffer };

/** Who seals: with the first key. Seals of the others are known, and replaced. */
export type Sealer = { readonly keys: readonly [SealKey, ...SealKey[]]; readonly dataDir: string };

type SealWork = {
  readonly sealer: () => Sealer;
  readonly log: Pick<Log, 'error' | 'warn'>;
  readonly everyMillis: number;
  /** Is told why the log is not sealed, or null when it is. An error that says nothing of the log changes nothing. */
  readonly onFault: (fault: string | null) => void;
};

/** Seals the audit log again and again, in each process that does so. */
export function startSealing(
  db: Database,
  { sealer, log, everyMillis, onFault }: SealWork,
): Repeated {
  let told: string | null = null;
  const seal = async () => {
    await sealAuditLog(db, sealer());
    told = null;
    onFault(null);
  };
  return repeat(seal, {
    everyMillis,
    onError(error) {
      const isFault = error instanceof AppError && error.code === 'verify_failed';
      const text = error instanceof AppError ? error.detail : String(error);
      // Once, and not every two seconds for as long as the database is away.
      if (text !== told)
        log[isFault ? 'error' : 'warn']({ err: error }, 'the audit log is not sealed');
      told = text;
      if (isFault) onFault(text);
    },
  });
}

/**
 * Seals all entries that have been committed. Throws `verify_failed` when what was sealed before is not there as it was:
 * a seal on what somebody has put in its place would hide it for good.
 */
export async function sealAuditLog(db: Database, sealer: Sealer): Promise<void> {
  const note = await readNote(sealer);
  // One snapshot: an entry that is pruned in between is no fault.
  const { chain, seal: old } = await db.transaction(
    async (snapshot) => {
      const read = await queries.readSealed(snapshot);
      const fault = await findFault(snapshot, sealer, { ...read, note });
      if (fault !== null) throw new AppError('verify_failed', { detail: fault });
      return read;
    },
    { isolation: 'repeatable read' },
  );
  if (old === undefined) {
    const begun = await db.transaction((connection) => beginSeals(connection, sealer));
    return writeNote(db, sealer, begun);
  }
  if (old.place === chain.last_place && old.key_id === sealer.keys[0].id) return;
  const seal = makeSeal(sealer, chain, old.since);
  if (await queries.replaceSeal(db, old, seal)) await writeNote(db, sealer, seal);
}

/** Begins with what the log is now, in a transaction of the caller, unless somebody else has begun. */
async function beginSeals(connection: Queryable, sealer: Sealer): Promise<Seal> {
  await queries.lockChain(connection);
  const { chain, seal: other } = await queries.readSealed(connection);
  if (other !== undefined) return other;
  const seal = makeSeal(sealer, chain, chain.last_place);
  await queries.insertSeal(connection, seal);
  return seal;
}

/** Begins anew, whatever was sealed before. `note` does in the same transaction what the caller has to say of it. */
export async function resealAuditLog(
  db: Database,
  sealer: Sealer,
  note: (connection: Queryable, seal: Seal) => Promise<void>,
): Promise<Seal> {
  const seal = await db.transaction(async (connection) => {
    await queries.deleteSeal(connection);
    const begun = await beginSeals(connection, sealer);
    await note(connection, begun);
    return begun;
  });
  // Only now: a note of what is not committed would be at fault.
  await writeNote(db, sealer, seal);
  return seal;
}

/**
 * Seals in the transaction of a pruning where the chain begins now. When the seal is at fault it prunes nothing, and returns
 * null: nothing goes as long as nobody knows what was there. The sealing tells it.
 */
export async function sealPruning<T>(
  connection: Queryable,
  sealer: Sealer,
  prune: () => Promise<T>,
): Promise<T | null> {
  const note = await readNote(sealer);
  const before = await queries.readSealed(connection, { lock: true });
  if ((await findFault(connection, sealer, { ...before, note })) !== null) return null;
  const done = await prune();
  // Read again, because a first seal may have been made meanwhile.
  const { chain, seal } = await queries.readSealed(connection, { lock: true });
  if (seal !== undefined) {
    const { pruned_place, pruned_hash } = chain;
    const key = sealer.keys.find(({ id }) => id === seal.key_id) ?? sealer.keys[0];
    const pruned = { ...seal, key_id: key.id, pruned_place, pruned_hash };
    await queries.replaceSeal(connection, seal, { ...pruned, mac: macOf(key, pruned) });
  }
  return done;
}

/**
 * What is wrong with the seal, as far as it can be seen without comparing entries; null: nothing, or nothing was sealed
 * yet. Whoever removes the seal together with its note in the data folder is not found out here.
 */
export async function findFault(
  db: Queryable,
  { keys, dataDir }: Sealer,
  { chain, seal, note }: { chain: AuditChain; seal: Seal | undefined; note: Note | null },
): Promise<string | null> {
  if (note !== null && note.log === (await queries.findLogId(db))) {
    const file = join(dataDir, fileName);
    if (seal === undefined) return `The seal was removed that ${file} tells of.`;
    const isThere = async () => (await queries.findHash(db, note.place)) === note.hash;
    if (note.place > chain.pruned_place && !(await isThere())) {
      return `The log does not have place ${note.place} as ${file} tells it: it was changed, or the database was set back.`;
    }
  }
  if (seal === undefined) return null;
  const key = keys.find(({ id }) => id === seal.key_id);
  if (key === undefined) return `The log is sealed with the key ${seal.key_id}, which is not here.`;
  if (!timingSafeEqual(macOf(key, seal), seal.mac)) return 'The seal itself was changed.';
  if (chain.pruned_place !== seal.pruned_place || chain.pruned_hash !== seal.pruned_hash) {
    return `The log begins behind place ${chain.pruned_place}, and was sealed behind ${seal.pruned_place}: entries were removed past svcctl, or by a process of a release that does not seal.`;
  }
  if ((await queries.findHash(db, seal.place)) !== seal.hash) {
    return `Place ${seal.place} is not as it was sealed: entries up to it were changed or removed, and hashes computed anew.`;
  }
  return null;
}

function makeSeal({ keys: [key] }: Sealer, chain: AuditChain, since: number): Seal {
  const { pruned_place, pruned_hash, last_place: place, last_hash: hash } = chain;
  const seal = { key_id: key.id, since, pruned_place, pruned_hash, place, hash };
  return { ...seal, mac: macOf(key, seal) };
}

function macOf({ key }: SealKey, seal: Omit<Seal, 'mac'>): Buffer {
  const { since, pruned_place, pruned_hash, place, hash } = seal;
  const text = ['svcctl audit seal 1', since, pruned_place, pruned_hash, place, hash].join('\n');
  return createHmac('sha256', key).update(text).digest();
}

/** What this machine saw sealed, and in which database. */
type Note = { readonly log: string; readonly place: number; readonly hash: string };

/**
 * Reads the note of the data folder; null: there is none. Read it before the snapshot that it is compared with begins: what
 * is sealed and noted later is not in that snapshot.
 */
export async function readNote({ dataDir }: Pick<Sealer, 'dataDir'>): Promise<Note | null> {
  const text = await readFile(join(dataDir, fileName), 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  });
  const [log, place, hash] = text.trim().split(' ');
  if (log === undefined || place === undefined || hash === undefined) return null;
  return { log, place: Number(place), hash };
}

async function writeNote(db: Queryable, { dataDir }: Sealer, { place, hash }: Seal): Promise<void> {
  const path = join(dataDir, fileName);
  const draft = `${path}.draft-${randomText(8)}`;
  try {
    await writeFile(draft, `${await queries.findLogId(db)} ${place} ${hash}\n`, { mode: 0o600 });
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
}
