import { hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import { link, open, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../kernel/errors.ts';
import { randomText } from '../../kernel/ids.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { findOrMakeKeyCheck, hasKeyCheck } from './queries.ts';

const minLength = 32;

/**
 * Finds the key that endpoint secrets are sealed with. It comes from SVC_SECRET_KEY (any text of 32 characters or more)
 * or else from `<data dir>/secret-key` (mode 0600), which the first start makes. The text of that file may also be
 * given as SVC_SECRET_KEY.
 *
 * Throws `settings_invalid` when the text is too short, or is not the key that this database was set up with. What is
 * sealed under one key cannot be opened with another, so a process with another key must not start.
 */
export async function findSecretKey(
  db: Queryable,
  settings: { secretKey: string | undefined; dataDir: string },
): Promise<Buffer> {
  const path = join(settings.dataDir, 'secret-key');
  const text = settings.secretKey ?? (await readOrMakeFile(db, path));
  const name = settings.secretKey === undefined ? path : 'SVC_SECRET_KEY';
  if (text.length < minLength) {
    throw new AppError('settings_invalid', {
      detail: `${name} has ${text.length} characters; it takes ${minLength} or more. \`openssl rand -base64 32\` makes a good one.`,
    });
  }
  const check = derive(text, 'svcctl webhook-secret-key-check');
  if (!timingSafeEqual(check, await findOrMakeKeyCheck(db, check))) throw otherKey(name);
  return derive(text, 'svcctl webhook-secret-key');
}

/** The text of the key that is there, without making one. Throws `settings_invalid` when there is none. */
export async function readSecretKey(settings: {
  secretKey: string | undefined;
  dataDir: string;
}): Promise<string> {
  const path = join(settings.dataDir, 'secret-key');
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
  const isBegun = await hasKeyCheck(db);
  const found = await readIfThere(path);
  if (found !== null) return found;
  // A fresh key would only hide that the right one is missing.
  if (isBegun) throw otherKey(path);
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
  const draft = `${path}.${randomText(8)}`;
  const text = `${randomBytes(32).toString('base64')}\n`;
  await writeFile(draft, text, { mode: 0o600, flag: 'wx', flush: true });
  try {
    await link(draft, path);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  } finally {
    await rm(draft, { force: true });
  }
  await flushFolder(join(path, '..'));
}

/** Flushes a folder, so that a power cut right afterwards cannot leave a database without its key. */
async function flushFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } catch (error) {
    // Some file systems cannot flush a folder.
    if (!['EINVAL', 'EPERM', 'ENOTSUP'].includes(codeOf(error))) throw error;
  } finally {
    await folder.close();
  }
}

/** The text of the file; null when there is none. Throws `settings_invalid` when it cannot be read. */
async function readIfThere(path: string): Promise<string | null> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw new AppError('settings_invalid', {
      detail: `${path} cannot be read: ${String(error)}. Make it readable, or set SVC_SECRET_KEY.`,
      cause: error,
    });
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

function otherKey(name: string): AppError {
  return new AppError('settings_invalid', {
    detail: `${name} is not the key that webhook secrets in this database are encrypted with. Set SVC_SECRET_KEY to that key, or put its file secret-key back into the data folder: processes that share a database share the key. Only if it is lost for good: delete the row webhook-secret-key-check of the table signing_keys, start again, and rotate the secret of every endpoint.`,
  });
}
