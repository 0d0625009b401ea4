import { randomUUID } from 'node:crypto';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Environment } from '../config/settings.ts';
import { AppError } from '../kernel/errors.ts';

export type Profile = { url: string; token: string };
export type ProfileFile = {
  /** The profile used when none is named. */
  default: string | null;
  profiles: Record<string, Profile>;
};

/** `$XDG_CONFIG_HOME/svcctl/config.json`, or under `~/.config`. */
export function profilePath(env: Environment): string {
  const home = env.HOME || homedir();
  return join(env.XDG_CONFIG_HOME || join(home, '.config'), 'svcctl', 'config.json');
}

/** All profiles; none when there is no file. Throws `file_unreadable`. */
export async function readProfiles(env: Environment): Promise<ProfileFile> {
  const path = profilePath(env);
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { default: null, profiles: {} };
    throw new AppError('file_unreadable', { detail: `${path}: ${String(error)}`, cause: error });
  }
  return parseProfiles(path, text);
}

/** Replaces the file as a whole, readable by its owner only: it holds tokens. */
export async function writeProfiles(env: Environment, file: ProfileFile): Promise<void> {
  const path = profilePath(env);
  const draft = `${path}.${randomUUID()}`;
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const handle = await open(draft, 'wx', 0o600);
    try {
      await handle.writeFile(`${JSON.stringify(file, null, 2)}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw new AppError('file_unreadable', { detail: `${path}: ${String(error)}`, cause: error });
  }
}

function parseProfiles(path: string, text: string): ProfileFile {
  const broken = (why: string) =>
    new AppError('file_unreadable', {
      detail: `${path} is not a profile file: ${why}. Mend or delete it, then: svcctl login`,
    });
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw broken('it is not JSON');
  }
  const file = parsed as Partial<ProfileFile> | null;
  if (typeof file?.profiles !== 'object' || file.profiles === null)
    throw broken('it has no profiles');
  for (const [name, profile] of Object.entries(file.profiles)) {
    if (typeof profile?.url !== 'string' || typeof profile.token !== 'string') {
      throw broken(`the profile ${name} has no url or no token`);
    }
  }
  return {
    default: typeof file.default === 'string' ? file.default : null,
    profiles: { ...file.profiles },
  };
}
