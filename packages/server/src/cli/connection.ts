import { open, readFile, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { Environment } from '../config/settings.ts';
import { AppError } from '../kernel/errors.ts';
import { makeFolders } from '../platform/make-folders.ts';
import { refuseRestore } from '../platform/restore-mark.ts';
import { usage } from './help.ts';
import type { Io } from './io.ts';

/** Which service a command calls, with which token, and where these were found. */
export type Connection = {
  /** The origin of the service, without the base path and without a slash at the end. */
  readonly url: string;
  readonly token: string;
  readonly source: 'environment' | 'profile' | 'local service';
  /** The name of the profile; null when no profile was used. */
  readonly profile: string | null;
  /** `source` in words, for people. */
  readonly place: string;
  /** The URL of the service of ./data, which the default profile goes before; null or nothing when there is none. */
  readonly passedBy?: string | null;
};

/** The service that `svcctl serve` runs in this folder, found by what it left in its data folder. */
type LocalService = { url: string; token: string | null };

/** A service that was found; its token is null when it could not be read. */
type Found = Omit<Connection, 'token'> & { readonly token: string | null };

/**
 * Finds the service to call. What is given for the call goes before what is stored: SVC_URL and SVC_TOKEN come first;
 * then the profile named by --profile or SVC_PROFILE; then the service of SVC_DATA_DIR; then the default profile; then
 * the service of ./data, so that a newcomer needs no login.
 *
 * One of SVC_URL and SVC_TOKEN may be set alone. A URL alone only takes a token that was stored for exactly this URL,
 * because a token must not be sent to a host for which it was not made.
 */
export async function findConnection(io: Io, profileFlag: string | undefined): Promise<Connection> {
  const url = io.env.SVC_URL ? parseServiceUrl(io.env.SVC_URL, 'SVC_URL') : null;
  const token = io.env.SVC_TOKEN || null;
  if (url !== null && token !== null) {
    return { url, token, source: 'environment', profile: null, place: 'SVC_URL and SVC_TOKEN' };
  }

  const found = await listFound(io, profileFlag);
  const isOf = (url: string) => (one: Found) => one.url === url && one.token !== null;
  if (url !== null) {
    const stored = found.find(isOf(url));
    if (stored !== undefined) return stored as Connection;
    throw new AppError('token_missing', {
      detail: `There is no token for ${url}. Set SVC_TOKEN, or sign in once:\nsvcctl login --url ${url}`,
    });
  }
  const [first] = found;
  if (first === undefined) {
    await refuseRestore({ dataDir: folderOf(io), databaseUrl: io.env.DATABASE_URL || undefined });
    throw nothingKnown(io);
  }
  if (token !== null) {
    const place = `${first.place}, with the token of SVC_TOKEN`;
    return { ...first, token, source: 'environment', place };
  }
  const stored = found.find(isOf(first.url));
  if (stored !== undefined) return stored as Connection;
  throw new AppError('token_missing', {
    detail: `A service runs here at ${first.url}, but its file admin-token cannot be read. Sign in once; who has no token makes one on this machine by svcctl tokens create --local --name admin --preset admin:\nsvcctl login --url ${first.url}`,
  });
}

/**
 * Lists the service to call and whatever else may have its token, the first one first. Where SVC_DATA_DIR names a folder
 * of which no service runs, the stored profile is no substitute: it is the way to another service.
 */
async function listFound(io: Io, profileFlag: string | undefined): Promise<Found[]> {
  const named = profileFlag ?? (io.env.SVC_PROFILE || undefined);
  const file = await readProfiles(io.env);
  const profileOf = (name: string | null): Found[] =>
    name !== null && Object.hasOwn(file.profiles, name)
      ? [fromProfile(name, file.profiles[name] as ConnectionProfile)]
      : [];
  if (named !== undefined) {
    const [profile] = profileOf(named);
    if (profile === undefined) throw unknownProfile(named, Object.keys(file.profiles));
    return [profile];
  }
  const service = await findLocalService(io);
  const place = 'the service running in this folder';
  const local: Found[] =
    service === null ? [] : [{ ...service, source: 'local service', profile: null, place }];
  const stored = profileOf(file.default);
  if (!io.env.SVC_DATA_DIR) {
    const passedBy = service !== null && service.url !== stored[0]?.url ? service.url : null;
    return [...stored.map((profile) => ({ ...profile, passedBy })), ...local];
  }
  return service === null && !io.env.SVC_URL ? [] : [...local, ...stored];
}

function nothingKnown({ env }: Io): AppError {
  return new AppError('token_missing', {
    detail: env.SVC_DATA_DIR
      ? `SVC_DATA_DIR: no service runs on ${env.SVC_DATA_DIR}. Start it, or unset SVC_DATA_DIR to call the one of a profile:\nSVC_DATA_DIR=${env.SVC_DATA_DIR} svcctl serve`
      : 'No service is known to talk to. Run this in the folder of one that runs (it has ./data; one that has just been started may take a while), start one here by svcctl serve, set SVC_URL and SVC_TOKEN, or sign in once:\nsvcctl login --url https://svcctl.example.org',
  });
}

const folderOf = ({ cwd, env }: Io) => resolve(cwd, env.SVC_DATA_DIR || 'data');

/**
 * Finds the service of this folder (or of SVC_DATA_DIR); null without one. Its token is null when it cannot be read.
 */
export async function findLocalService(io: Io): Promise<LocalService | null> {
  const folder = folderOf(io);
  const note = await readFile(join(folder, 'service.json'), 'utf8').catch(() => null);
  if (note === null) return null;
  const token = await readFile(join(folder, 'admin-token'), 'utf8').catch(() => null);
  try {
    const { url } = JSON.parse(note) as { url?: unknown };
    return { url: parseServiceUrl(String(url), 'service.json'), token: token?.trim() || null };
  } catch {
    // A file that is half-written or not ours counts as none; the caller could not mend it.
    return null;
  }
}

/** The error for a profile that does not exist; it names those that do. */
export function unknownProfile(name: string, known: readonly string[]): AppError {
  const hint = known.length === 0 ? 'There are none yet.' : `There are: ${known.join(', ')}.`;
  return usage(
    `There is no profile "${name}". ${hint} Make one:\nsvcctl login --profile ${name} --url URL`,
  );
}

/**
 * Reads the URL of a service: its origin, with or without the base path `/api/v1`. `place` says in an error where the
 * text came from. Throws `usage_invalid`.
 */
export function parseServiceUrl(text: string, place: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw usage(`${place}: "${text}" is not a URL such as http://127.0.0.1:8080.`);
  }
  if (url.username !== '' || url.password !== '') {
    throw usage(
      `${place}: a URL with a password in it is not taken. Give the token by SVC_TOKEN or svcctl login.`,
    );
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '').replace(/\/api\/v1$/, '')}`;
}

function fromProfile(name: string, profile: ConnectionProfile): Connection {
  const place = `the profile ${name}`;
  const url = parseServiceUrl(profile.url, place);
  return { url, token: profile.token, source: 'profile', profile: name, place };
}

type ConnectionProfile = { url: string; token: string };
type ProfileFile = {
  /** The profile that is used when none is named. */
  default: string | null;
  profiles: Record<string, ConnectionProfile>;
};

/** The file with the profiles: `$XDG_CONFIG_HOME/svcctl/config.json`, or below `~/.config`. */
export function profilePath(env: Environment): string {
  const home = env.HOME || homedir();
  return join(env.XDG_CONFIG_HOME || join(home, '.config'), 'svcctl', 'config.json');
}

/** Reads all profiles; none when there is no file. Throws `file_unreadable`. */
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

/** Replaces the whole file at once. Only its owner can read it, because it holds tokens. */
export async function writeProfiles(env: Environment, file: ProfileFile): Promise<void> {
  const path = profilePath(env);
  const draft = `${path}.${crypto.randomUUID()}`;
  try {
    await makeFolders(dirname(path), 0o700);
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
