import { hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import { link, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../kernel/errors.ts';
import { randomText } from '../../kernel/ids.ts';
import { systemCode } from '../../platform/objects/objects.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { syncFolder } from '../../platform/sync-folder.ts';
import type { Keyring, SecretKey } from '../secret.ts';
import { findKeyCheck, findOrMakeKeyCheck } from './queries.ts';

const minLength = 32;
const fileName = 'secret-key';

type KeySettings = {
  /** SVC_SECRET_KEY; unset: the file `secret-key` of the data folder. */
  readonly secretKey: string | undefined;
  /** SVC_SECRET_KEY_PREVIOUS: a key that only opens, or will only open, what is sealed. */
  readonly secretKeyPrevious?: string | undefined;
  readonly dataDir: string;
};

/** The keys of a process, and the one that its settings would seal with, which `svcctl keys rotate` makes so. */
export type FoundKeys = Keyring & { readonly wanted: NamedKey };

/**
 * Finds the keys that secrets are sealed with: SVC_SECRET_KEY (any text of 32 characters or more) and
 * SVC_SECRET_KEY_PREVIOUS, or else `<data dir>/secret-key` (mode 0600), which the first start makes, and
 * `secret-key.<id>` of earlier rotations. The database says which of them seals.
 *
 * Throws `settings_invalid` when a text is too short, or the key that seals is not among them: what is sealed could not
 * be opened, so such a process must not start.
 */
export async function findKeyring(db: Queryable, settings: KeySettings): Promise<FoundKeys> {
  const { name, wanted, known } = await readKeys(settings, (path) => readOrMakeFile(db, path));
  const { check, isBound } = await findOrMakeKeyCheck(db, wanted);
  const sealing = known.find((key) => timingSafeEqual(key.check, check));
  if (sealing === undefined) throw otherKey(name);
  return { wanted, sealing, others: known.filter((key) => key.id !== sealing.id), isBound };
}

/**
 * Why the next start would not find the key that seals, as a sentence without its full stop; null when it would. A
 * process that runs goes on with the key that it knows, so that nobody else notices. Makes nothing.
 */
export async function findKeyFault(db: Queryable, settings: KeySettings): Promise<string | null> {
  const check = await findKeyCheck(db);
  if (check === undefined) return null;
  const path = join(settings.dataDir, fileName);
  try {
    if (settings.secretKey === undefined && (await readIfThere(path)) === null) {
      return missingText(path);
    }
    const { name, known } = await readKeys(settings, async () => (await readIfThere(path)) ?? '');
    return known.some((key) => timingSafeEqual(key.check, check)) ? null : otherText(name);
  } catch (error) {
    if (error instanceof AppError) return error.detail.replace(/\.$/, '');
    throw error;
  }
}

/** Finds or makes the key that is to seal in place of one that is lost; null when nothing is lost. */
export async function findKeyInstead(
  db: Queryable,
  settings: KeySettings,
): Promise<NamedKey | null> {
  const { wanted, known } = await readKeys(settings, readOrMakeAnyFile);
  const { check } = await findOrMakeKeyCheck(db, wanted);
  return known.some((key) => timingSafeEqual(key.check, check)) ? null : wanted;
}

/** Reads the keys that a process has, the one of its settings first, and says where that one is from. */
async function readKeys(
  { secretKey, secretKeyPrevious: previous, dataDir }: KeySettings,
  readFileKey: (path: string) => Promise<string>,
): Promise<{ name: string; wanted: NamedKey; known: NamedKey[] }> {
  const path = join(dataDir, fileName);
  const isFile = secretKey === undefined;
  const name = isFile ? path : 'SVC_SECRET_KEY';
  const wanted = toKey(name, secretKey ?? (await readFileKey(path)));
  const known = [wanted];
  if (previous !== undefined) known.push(toKey('SVC_SECRET_KEY_PREVIOUS', previous));
  if (isFile) {
    for (const file of await listFormerFiles(dataDir)) {
      const text = await readIfThere(file);
      if (text !== null) known.push(toKey(file, text));
    }
  }
  return { name, wanted, known };
}

/** A key as it is derived from its text. `check` tells the database which key it is, and nothing else of it. */
type NamedKey = SecretKey & { readonly check: Buffer };

function toKey(name: string, text: string): NamedKey {
  if (text.length < minLength) {
    throw new AppError('settings_invalid', {
      detail: `${name} has ${text.length} characters; it takes ${minLength} or more. \`openssl rand -base64 32\` makes a good one.`,
    });
  }
  return {
    id: derive(text, 'svcctl webhook-secret-key-id').subarray(0, 4).toString('hex'),
    key: derive(text, 'svcctl webhook-secret-key'),
    check: derive(text, 'svcctl webhook-secret-key-check'),
  };
}

async function listFormerFiles(dataDir: string): Promise<string[]> {
  const names = await readdir(dataDir);
  const former = names.filter((name) => /^secret-key\.[0-9a-f]{8}$/.test(name));
  return former.sort().map((name) => join(dataDir, name));
}

/**
 * Puts a new key into the data folder, and keeps the present one, whose id this is, beside it. A kill in between leaves
 * the present key in its place, or the new one with the present one beside it; both open what is sealed.
 */
export async function makeNextKeyFile(dataDir: string, id: string): Promise<void> {
  const path = join(dataDir, fileName);
  try {
    await link(path, `${path}.${id}`);
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error;
  }
  await flushFolder(dataDir);
  await rename(await writeDraft(path), path);
  await flushFolder(dataDir);
}

/** The text of the key that is there, without making one. Throws `settings_invalid` when there is none. */
export async function readSecretKey(settings: {
  secretKey: string | undefined;
  dataDir: string;
}): Promise<string> {
  const path = join(settings.dataDir, fileName);
  const text = settings.secretKey ?? (await readIfThere(path));
  if (text !== null) return text;
  throw new AppError('settings_invalid', {
    detail: `There is no ${path}, and SVC_SECRET_KEY is not set.`,
  });
}

/** Derives a key by HKDF. The keys for different purposes come from one text, and none of them reveals another. */
function derive(text: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', text, '', purpose, 32));
}

async function readOrMakeFile(db: Queryable, path: string): Promise<string> {
  // This is asked before the file is read: whoever sets up the database makes the file first.
  const isBegun = (await findKeyCheck(db)) !== undefined;
  const found = await readIfThere(path);
  if (found !== null) return found;
  // A fresh key would only hide that the right one is missing.
  if (isBegun) throw missingKey(path);
  return readOrMakeAnyFile(path);
}

async function readOrMakeAnyFile(path: string): Promise<string> {
  const found = await readIfThere(path);
  if (found !== null) return found;
  await makeFile(path);
  const made = await readIfThere(path);
  if (made === null) throw new Error(`${path} vanished`);
  return made;
}

/**
 * Makes the key file. When several processes start at once, the first makes it and the others find it. A link, unlike a
 * rename, never replaces an existing file; unlike a file that is opened exclusively, it appears with its whole content.
 */
async function makeFile(path: string): Promise<void> {
  const draft = await writeDraft(path);
  try {
    await link(draft, path);
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error;
  } finally {
    await rm(draft, { force: true });
  }
  await flushFolder(join(path, '..'));
}

/** Writes a fresh key beside the file that it is to become, and returns the path. */
async function writeDraft(path: string): Promise<string> {
  const draft = `${path}.draft-${randomText(8)}`;
  const text = `${randomBytes(32).toString('base64')}\n`;
  await writeFile(draft, text, { mode: 0o600, flag: 'wx', flush: true });
  return draft;
}

/** Flushes a folder, so that a power cut right afterwards cannot leave a database without its key. */
async function flushFolder(path: string): Promise<void> {
  try {
    await syncFolder(path);
  } catch (error) {
    // Some file systems cannot flush a folder.
    if (!['EINVAL', 'EPERM', 'ENOTSUP'].includes(systemCode(error) ?? '')) throw error;
  }
}

/** The text of the file; null when there is none. Throws `settings_invalid` when it cannot be read. */
async function readIfThere(path: string): Promise<string | null> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null;
    throw new AppError('settings_invalid', {
      detail: `${path} cannot be read: ${String(error)}. Make it readable, or set SVC_SECRET_KEY.`,
      cause: error,
    });
  }
}

/** What to do where the key that seals is not here. */
const keyRemedy =
  'Set SVC_SECRET_KEY to that key, or put its file secret-key back into the data folder: processes that share a database share the key. Only if it is lost for good: stop all processes, and take another one by svcctl keys rotate --lost.';

const otherText = (name: string) =>
  `${name} is not the key that webhook secrets in this database are encrypted with`;
const missingText = (path: string) =>
  `There is no ${path}, and SVC_SECRET_KEY is not set: the key is missing that webhook secrets in this database are encrypted with`;

function otherKey(name: string): AppError {
  return new AppError('settings_invalid', { detail: `${otherText(name)}. ${keyRemedy}` });
}

function missingKey(path: string): AppError {
  return new AppError('settings_invalid', { detail: `${missingText(path)}. ${keyRemedy}` });
}
