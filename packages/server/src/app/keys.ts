import { createHmac } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { auditLocally, resealAuditLog, type Sealer, sealAuditLog } from '../access/index.ts';
import { listProcesses, listSealedTargets, replaceSealedTarget } from '../checks/index.ts';
import type { Settings } from '../config/settings.ts';
import { listSealedSchedules, replaceSealedSchedule } from '../exports/index.ts';
import { AppError } from '../kernel/errors.ts';
import type { Log } from '../platform/log.ts';
import type { Database } from '../platform/postgres/database.ts';
import { migrate } from '../platform/postgres/migrate.ts';
import { busy, withSessionLock } from '../platform/work/session-lock.ts';
import {
  canOpen,
  countSealed,
  createSecretBox,
  type FoundKeys,
  findKeyInstead,
  findKeyring,
  keyIdOf,
  listUnopened,
  makeNextKeyFile,
  resealEndpoints,
  sealAnew,
  setSealingKey,
} from '../webhooks/index.ts';
import { makeDataDir, withOwnDatabase } from './database.ts';
import type { Host, State } from './host.ts';

/** Keeps the keys of this process as the data folder and the database have them. */
export type Keys = {
  /** Looks at them now, and returns their ids, the one that seals first. Throws what `findKeyring` throws. */
  refresh(): Promise<readonly string[]>;
};

export function createKeys({
  settings,
  db,
  state,
}: Pick<Host, 'settings' | 'db'> & { state: Pick<State, 'secretBox' | 'sealer'> }): Keys {
  let seen: string | undefined;
  return {
    async refresh() {
      const ring = await findKeyring(db, settings);
      const ids = [ring.sealing, ...ring.others].map(({ id }) => id);
      const now = JSON.stringify([ids, ring.isBound]);
      if (now !== seen) {
        state.secretBox = createSecretBox(ring);
        state.sealer = sealerOf(ring, settings);
      }
      seen = now;
      return ids;
    },
  };
}

/** Who seals the audit log: with keys that are derived from those of webhook secrets, and rotated with them. */
function sealerOf({ sealing, others }: FoundKeys, { dataDir }: { dataDir: string }): Sealer {
  const derive = ({ id, key }: { id: string; key: Buffer }) => ({
    id,
    key: createHmac('sha256', key).update('svcctl audit-seal-key').digest(),
  });
  return { keys: [derive(sealing), ...others.map(derive)], dataDir };
}

/** A key of webhook secrets. */
export type KeyRow = {
  /** 8 hexadecimal digits, which tell nothing of the key; null: secrets of before the first rotation. */
  readonly id: string | null;
  /** Whether new secrets are encrypted with it. */
  readonly seals: boolean;
  /** Whether this machine has it. */
  readonly is_known: boolean;
  /** How many secrets are encrypted with it. */
  readonly secrets: number;
  /** How many of the live processes know it. */
  readonly processes: number;
};

export type KeysReport = { readonly keys: readonly KeyRow[]; readonly processes: number };

/** The keys that this machine has, or that secrets are encrypted with. */
export async function listKeys(settings: Settings, log: Log): Promise<KeysReport> {
  return withOwnDatabase(settings, log, async (db) => {
    await migrate(db);
    return describe(db, await findKeyring(db, settings));
  });
}

type RotateTools = {
  readonly settings: Settings;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** How long it waits for processes to know a key. */
  readonly waitSeconds: number;
  /** Is told what it waits for, or does. */
  readonly onStep: (text: string) => void;
};

/**
 * Encrypts all webhook secrets with another key while processes send: a new one in the data folder, or SVC_SECRET_KEY
 * where that is set. First every live process must know the key, then it seals, then what is stored is sealed anew. A
 * rotation that was begun is ended, and no other begun. Throws `keys_busy`, `keys_unknown`, `settings_invalid`.
 */
export async function rotateKeys(tools: RotateTools): Promise<KeysReport> {
  return alone(tools, (db, own) => rotateAlone(db, { ...tools, signal: own }));
}

/** What a key that is lost has taken with it. */
type LostReport = KeysReport & {
  /** The ids of the endpoints whose secret nobody can decrypt any more. */
  readonly endpoints: readonly string[];
  /** The ids of such targets of notices. */
  readonly targets: readonly string[];
  /** The ids of schedules of exports whose credentials it has taken. */
  readonly schedules: readonly string[];
};

/**
 * Puts the key of the settings in the place of one that is lost, or one that is made in the data folder. What the lost
 * one has encrypted is told: its owners need new secrets. No process may run meanwhile, as it would go on with the key
 * that it knows. Throws `keys_in_use`, `keys_busy`, `settings_invalid`, and `usage_invalid` when nothing is lost.
 */
export async function replaceLostKey(
  tools: Pick<RotateTools, 'settings' | 'log' | 'signal'>,
): Promise<LostReport> {
  const { settings } = tools;
  await makeDataDir(settings);
  return alone(tools, async (db, signal) => {
    await refuseRunning(db);
    const key = await findKeyInstead(db, settings);
    if (key === null) {
      throw new AppError('usage_invalid', {
        detail: 'The key is here, and nothing is lost. To take another one: svcctl keys rotate.',
      });
    }
    await db.transaction(async (connection) => {
      await setSealingKey(connection, key);
      await auditLocally(connection, 'this machine', {
        action: 'key.rotate',
        target: key.id,
        after: { key: key.id, is_key_before_lost: true },
      });
    });
    const ring = await findKeyring(db, settings);
    await resealAuditLog(db, sealerOf(ring, settings), async () => {});
    const box = createSecretBox(ring);
    const lost = (rows: readonly Sealed[]) =>
      rows.filter(({ id, secret }) => !canOpen(box, secret, id)).map(({ id }) => id);
    return {
      ...(await describe(db, ring)),
      endpoints: await listUnopened(db, { ring, box, signal }),
      targets: lost(await listSealedTargets(db)),
      schedules: lost(await listSealedSchedules(db)),
    };
  });
}

/** Seals the audit log as it is, whatever was sealed before, and says so there. Services go on with this seal. */
export async function resealAudit(
  settings: Settings,
  log: Log,
): Promise<{ place: number; key: string }> {
  return withOwnDatabase(settings, log, async (db) => {
    await migrate(db);
    const ring = await findKeyring(db, settings);
    const { place, key_id: key } = await resealAuditLog(
      db,
      sealerOf(ring, settings),
      (connection, seal) =>
        auditLocally(connection, 'this machine', {
          action: 'audit.reseal',
          target: seal.key_id,
          after: { key: seal.key_id, place: seal.place },
        }),
    );
    return { place, key };
  });
}

async function refuseRunning(db: Database): Promise<void> {
  const running = await listAlive(db);
  if (running.length === 0) return;
  const names = running.map(({ host, pid }) => `${host} (process ${pid})`).join(', ');
  throw new AppError('keys_in_use', {
    detail: `These processes run and would go on with the key that they know: ${names}. Stop them first; one that was killed counts as gone after a while (svcctl ps).`,
  });
}

/** Does work on keys that no other process does at the same time. */
async function alone<T>(
  { settings, log, signal }: Pick<RotateTools, 'settings' | 'log' | 'signal'>,
  work: (db: Database, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  return withOwnDatabase(settings, log, async (db) => {
    await migrate(db);
    const lost = 'The connection that keeps other rotations away was lost. Run it again.';
    const done = await withSessionLock(
      db,
      { name: 'keys' },
      { signal, lost, work: (own) => work(db, own) },
    );
    if (done !== busy) return done;
    throw new AppError('keys_busy', {
      detail: 'Another rotation of keys is under way. Try again when it has ended.',
    });
  });
}

async function rotateAlone(db: Database, tools: RotateTools): Promise<KeysReport> {
  const { settings, onStep } = tools;
  const ring = await chooseKeys(db, settings);
  const { wanted } = ring;
  if (ring.sealing.id !== wanted.id) {
    onStep(`Waiting until every process knows the key ${wanted.id}.`);
    await untilProcesses(db, tools, (keys) => keys.includes(wanted.id));
    await db.transaction(async (connection) => {
      await setSealingKey(connection, wanted);
      await auditLocally(connection, 'this machine', {
        action: 'key.rotate',
        target: wanted.id,
        after: { key: wanted.id, key_before: ring.sealing.id },
      });
    });
  }
  onStep(`Waiting until every process encrypts with the key ${wanted.id}.`);
  await untilProcesses(db, tools, ([first]) => first === wanted.id);
  onStep('Encrypting what is stored.');
  const now = await findKeyring(db, settings);
  await reseal(db, now, tools.signal);
  try {
    await sealAuditLog(db, sealerOf(now, settings));
  } catch (error) {
    // Whoever has changed the log must not keep the secrets from a new key.
    if (!(error instanceof AppError) || error.code !== 'verify_failed') throw error;
    onStep(`The audit log is not sealed with it: ${error.detail}`);
  }
  return describe(db, now);
}

/** The keys of a rotation that was begun; otherwise a new one is made, and wanted. */
async function chooseKeys(db: Database, settings: Settings): Promise<FoundKeys> {
  const ring = await findKeyring(db, settings);
  if (ring.sealing.id !== ring.wanted.id) return ring;
  const rests = (await countAll(db)).filter(({ key_id }) => key_id !== ring.sealing.id);
  if (ring.isBound && rests.some(({ key_id }) => isKnown(ring, key_id))) return ring;
  if (settings.secretKey !== undefined) {
    throw new AppError('settings_invalid', {
      detail:
        'SVC_SECRET_KEY is the key that is in use. Set SVC_SECRET_KEY to a new one and SVC_SECRET_KEY_PREVIOUS to this one for every process, restart them one after the other, and run this again with both.',
    });
  }
  await makeNextKeyFile(settings.dataDir, ring.sealing.id);
  return findKeyring(db, settings);
}

async function untilProcesses(
  db: Database,
  { settings, waitSeconds, signal }: RotateTools,
  isReady: (keys: readonly string[]) => boolean,
): Promise<void> {
  const endsAt = performance.now() + waitSeconds * 1000;
  for (;;) {
    const late = (await listAlive(db)).filter(({ secret_keys }) => !isReady(secret_keys));
    if (late.length === 0) return;
    if (performance.now() > endsAt) {
      const names = late.map(({ host, pid }) => `${host} (process ${pid})`).join(', ');
      throw new AppError('keys_unknown', {
        detail: `Not every process knows the key yet: ${names}. All go on with the keys that they have. Give them the key, by SVC_SECRET_KEY and SVC_SECRET_KEY_PREVIOUS or in their data folder, or end those that hang; then run this again.`,
      });
    }
    await setTimeout(settings.waits.keysMillis, undefined, { signal });
  }
}

/** Those that are silent may only be slow, and would go on with the keys that they know. */
async function listAlive(db: Database) {
  return (await listProcesses(db)).filter(({ state }) => state !== 'gone');
}

async function reseal(db: Database, ring: FoundKeys, signal: AbortSignal): Promise<void> {
  const box = createSecretBox(ring);
  await resealEndpoints(db, { ring, box, signal });
  for (const { list, replace } of fewSealed) {
    for (const own of await list(db)) {
      if (keyIdOf(own.secret) === ring.sealing.id) continue;
      await replace(db, own, sealAnew(box, own.secret, own.id));
    }
  }
}

type Sealed = { readonly id: string; readonly secret: Buffer };

/** What is sealed beside the secrets of endpoints: there are few of them, so that they are listed at once. */
const fewSealed = [
  { list: listSealedTargets, replace: replaceSealedTarget },
  { list: listSealedSchedules, replace: replaceSealedSchedule },
];

async function describe(db: Database, ring: FoundKeys): Promise<KeysReport> {
  const counts = new Map((await countAll(db)).map(({ key_id, count }) => [key_id, count]));
  const alive = await listAlive(db);
  const known = [ring.sealing, ...ring.others].map(({ id }) => id);
  return {
    processes: alive.length,
    keys: [...new Set([...known, ...counts.keys()])].map((id) => ({
      id,
      seals: id === ring.sealing.id,
      is_known: isKnown(ring, id),
      secrets: counts.get(id) ?? 0,
      processes: alive.filter(({ secret_keys }) => id === null || secret_keys.includes(id)).length,
    })),
  };
}

/** Whether a key is here. Secrets of before the first rotation say under which they are; any may open them. */
function isKnown(ring: FoundKeys, id: string | null): boolean {
  return id === null || [ring.sealing, ...ring.others].some((key) => key.id === id);
}

async function countAll(db: Database): Promise<{ key_id: string | null; count: number }[]> {
  const sums = new Map((await countSealed(db)).map(({ key_id, count }) => [key_id, count]));
  for (const { list } of fewSealed) {
    for (const { secret } of await list(db)) {
      const id = keyIdOf(secret);
      sums.set(id, (sums.get(id) ?? 0) + 1);
    }
  }
  return [...sums].map(([key_id, count]) => ({ key_id, count }));
}
