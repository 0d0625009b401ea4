import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { AppError } from '../kernel/errors.ts';
import { nearestOf } from '../kernel/nearest.ts';
import { type DescribedRow, settingRows } from './setting-rows.ts';

type Rows = typeof settingRows;
/** All settings as the service uses them: numbers are parsed, sizes are in bytes, and names say the other units. */
export type Settings = {
  readonly [K in keyof Rows]: ReturnType<Rows[K]['parse']> | DefaultOf<Rows[K]>;
} & { readonly waits: Waits };
type DefaultOf<R> = R extends { default: infer D } ? D : never;

/** Variables that only the command line reads. `loadSettings` must know them, or it would refuse them as mistyped. */
export const clientVariables = {
  SVC_URL: 'Origin of the service the command line talks to, such as http://127.0.0.1:8080.',
  SVC_TOKEN: 'Access token of the command line.',
  SVC_PROFILE: 'Profile of the command line, as written by `svcctl login`.',
} as const;

/** The environment of a process, as `process.env` has it. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads all settings from the environment; an empty variable counts as unset. Throws `settings_invalid`, which names
 * each wrong value and each unknown `SVC_*` variable: a mistyped name must not silently leave a default in force.
 * `dataDir` is returned as an absolute path.
 */
export function loadSettings(env: Environment): Settings {
  const faults: string[] = [];
  const settings: Record<string, unknown> = { waits: usualWaits };
  for (const [name, row] of Object.entries(settingRows)) {
    const given = env[row.env];
    if (given === undefined || given === '') {
      settings[name] = row.default;
      continue;
    }
    try {
      settings[name] = row.parse(given);
    } catch (error) {
      faults.push(`${row.env}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  faults.push(...faultsOfPeople(settings as Settings));
  const known = new Set<string>(Object.keys(clientVariables));
  for (const row of Object.values(settingRows)) known.add(row.env);
  for (const name of Object.keys(env)) {
    if (!name.startsWith('SVC_') || known.has(name)) continue;
    const meant = nearestOf(name, known);
    faults.push(`${name}: no such setting${meant === undefined ? '' : `, ${meant} may be meant`}`);
  }
  if (faults.length > 0) {
    throw new AppError('settings_invalid', {
      detail: `${faults.join('; ')}. All settings: docs/configuration.md`,
    });
  }
  settings.dataDir = resolve(String(settings.dataDir));
  return settings as Settings;
}

/** What must be given together, for people to sign in. */
function faultsOfPeople(settings: Settings): string[] {
  const { oidcIssuer, oidcClientSecret, oidcClientSecretFile } = settings;
  if (oidcIssuer === undefined) return [];
  const needed = ['publicUrl', 'oidcClientId', 'oidcGroups'] as const;
  const missing = needed.filter((name) => settings[name] === undefined);
  return [
    ...missing.map((name) => `${settingRows[name].env}: SVC_OIDC_ISSUER needs it`),
    ...(oidcClientSecret !== undefined && oidcClientSecretFile !== undefined
      ? ['SVC_OIDC_CLIENT_SECRET_FILE: SVC_OIDC_CLIENT_SECRET is given, too']
      : []),
  ];
}

/** Returns the shared settings that a process heeds, by the names of their variables, as text to be compared. */
export function sharedSettingsOf(settings: Settings): Record<string, string> {
  const values: Record<string, string> = {};
  for (const [name, row] of Object.entries(settingRows) as [keyof Rows, DescribedRow][]) {
    if (!row.sharedBy?.some((role) => settings.roles.includes(role))) continue;
    // Where it is unset, it follows from another setting.
    const fallback = name === 'blobUrl' ? pathToFileURL(join(settings.dataDir, 'cold')).href : '';
    const value = settings[name] ?? fallback;
    values[row.env] = typeof value === 'object' ? value.toSorted().join(',') : String(value);
  }
  return values;
}

/**
 * Waits of a process that no variable sets, in milliseconds. A test makes those shorter that it waits for to pass; nobody
 * else changes them.
 */
export type Waits = {
  /** Between two beats by which a process tells the others that it lives; with each it looks for new keys. */
  readonly beatMillis: number;
  /** Between two looks for runs of schedules that are due, and for files of exports that no job has any more. */
  readonly exportLookMillis: number;
  /** Between two counts of what waits to be delivered. */
  readonly holdBackMillis: number;
  /** Between two seals of the audit log: what is changed sooner after its commit is sealed as it has become. */
  readonly sealMillis: number;
  /** Between two copies of the audit log to those who keep one. */
  readonly copyMillis: number;
  /** Between two looks whether all processes know a key, while keys are rotated. */
  readonly keysMillis: number;
  /** Between two looks of a drainer whether its part of the lanes is right; it tells by them that it lives. */
  readonly lanesMillis: number;
  /** Between two looks for tables that have grown, which the planner is told of then. */
  readonly growthMillis: number;
  /** Between two looks for statements that wait for a standby; left out, it is what `openDatabase` takes by itself. */
  readonly standbyMillis?: number;
  /** So long after the end of its range a replay may end: until then a report of it may not be committed. */
  readonly replaySettleMillis: number;
  /** For so long whoever asks whether the process is ready learns what it saw of its database. */
  readonly readyMillis: number;
  /** A scrape never waits longer for the database or a disk: Prometheus gives up after ten seconds. */
  readonly scrapeMillis: number;
  /** Nor so long for the token that it is asked with. */
  readonly scrapeTokenMillis: number;
  /** A reader of a tail that takes nothing for so long is dropped. */
  readonly tailStallMillis: number;
  /** So long after its last event a tail says that it is still there. */
  readonly tailQuietMillis: number;
  /** For so long a token that was looked up is not looked up again where the statement that stores checks it. */
  readonly tokenMillis: number;
};

export const usualWaits: Waits = {
  beatMillis: 10_000,
  exportLookMillis: 5000,
  holdBackMillis: 2000,
  sealMillis: 2000,
  copyMillis: 10_000,
  keysMillis: 1000,
  lanesMillis: 2000,
  growthMillis: 2000,
  replaySettleMillis: 2000,
  readyMillis: 500,
  scrapeMillis: 5000,
  scrapeTokenMillis: 2000,
  tailStallMillis: 10_000,
  tailQuietMillis: 15_000,
  tokenMillis: 1000,
};
