import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { readGroupTable } from '../kernel/group-table.ts';

/**
 * Describes one setting: its variable and its default. `parse` throws an Error whose message says which
 * values fit. The value of a `secret` setting is masked wherever settings are printed.
 */
export type SettingRow<T, D = T> = {
  readonly env: string;
  readonly type: string;
  readonly default: D;
  readonly secret?: boolean;
  readonly parse: (value: string) => T;
};

export function text<D extends string | undefined>(
  env: string,
  fallback: D,
): SettingRow<string, D> {
  return { env, type: 'text', default: fallback, parse: (value) => value };
}

/**
 * The setting is a whole number in decimal digits, from `min` to `max` inclusive. Signs, exponents and fractions are
 * refused.
 */
export function integer(
  env: string,
  fallback: number,
  min: number,
  max: number,
): SettingRow<number> {
  const parse = (value: string) =>
    within(value, /^\d+$/.test(value) ? Number(value) : Number.NaN, min, max);
  return { env, type: `whole number, ${min}–${max}`, default: fallback, parse };
}

const units: Record<string, number> = { '': 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

/**
 * The setting is a size in bytes, from `min` to `max` inclusive. It may be given with a binary unit: `64MiB` is
 * 67,108,864.
 */
export function bytes(env: string, fallback: number, min: number, max: number): SettingRow<number> {
  const parse = (value: string) => {
    const match = /^(\d+)(KiB|MiB|GiB)?$/.exec(value);
    if (match === null) throw new Error(`"${value}" is not a size such as 1048576, 64MiB or 2GiB`);
    return within(value, Number(match[1]) * (units[match[2] ?? ''] ?? 1), min, max);
  };
  return { env, type: 'size: bytes, or with KiB, MiB, GiB', default: fallback, parse };
}

/** The setting is one of a few words, spelled exactly as here. */
export function oneOf<const T extends string>(
  env: string,
  values: readonly T[],
  fallback: T,
): SettingRow<T> {
  const parse = (value: string) => member(values, value);
  return { env, type: `one of ${values.join(', ')}`, default: fallback, parse };
}

/** The setting is a list of members separated by commas, without repetitions. The default is all members, or those given. */
export function subset<const T extends string>(
  env: string,
  values: readonly T[],
  fallback: readonly T[] = values,
): SettingRow<readonly T[]> {
  const parse = (value: string) => [
    ...new Set(value.split(',').map((part) => member(values, part.trim()))),
  ];
  return { env, type: `some of ${values.join(',')}`, default: fallback, parse };
}

/**
 * The setting is a URL with one of these schemes, returned as it was given. A message never repeats the value, because
 * a URL may hold a password.
 */
export function url(env: string, schemes: readonly string[]): SettingRow<string, undefined> {
  const parse = (value: string) => {
    const scheme = URL.canParse(value) ? new URL(value).protocol.slice(0, -1) : '';
    if (!schemes.includes(scheme)) {
      throw new Error(
        `is not a URL that begins with ${schemes.map((s) => `${s}://`).join(' or ')}`,
      );
    }
    return value;
  };
  return { env, type: 'URL', default: undefined, parse };
}

/**
 * The setting is the origin of a web server, `https://svcctl.example`: scheme, host and port. A path or a query is
 * refused.
 */
export function origin(env: string): SettingRow<string, undefined> {
  return { env, type: 'origin', default: undefined, parse: parseOrigin };
}

/** Origins separated by commas. The default is an empty list. */
export function origins(env: string): SettingRow<readonly string[]> {
  const parse = (value: string) => value.split(',').map((part) => parseOrigin(part.trim()));
  return { env, type: 'origins separated by commas', default: [], parse };
}

function parseOrigin(value: string): string {
  const parsed = URL.canParse(value) ? new URL(value) : null;
  const isWeb = parsed?.protocol === 'http:' || parsed?.protocol === 'https:';
  if (parsed === null || !isWeb || parsed.href !== `${parsed.origin}/`) {
    throw new Error('is not an origin such as https://svcctl.example, without a path');
  }
  return parsed.origin;
}

/**
 * The setting is the issuer of an identity server, as its metadata spell it. It is asked by https, unless it is on this
 * machine: whoever stands in between could sign anybody in.
 */
export function issuer(env: string): SettingRow<string, undefined> {
  const parse = (value: string) => {
    const parsed = URL.canParse(value) ? new URL(value) : null;
    const isHere =
      parsed?.protocol === 'http:' && ['127.0.0.1', '[::1]', 'localhost'].includes(parsed.hostname);
    const isPlain = parsed?.search === '' && parsed.hash === '' && parsed.username === '';
    if (!isPlain || !(isHere || parsed.protocol === 'https:')) {
      throw new Error('is not an issuer such as https://login.acme.example/realms/acme');
    }
    return value;
  };
  return { env, type: 'https URL', default: undefined, parse };
}

/** The setting is a table from groups to rights, kept as it was given: see `readGroupTable`. */
export function groupTable(env: string): SettingRow<string, undefined> {
  const parse = (value: string) => {
    readGroupTable(value);
    return value;
  };
  return { env, type: 'JSON object', default: undefined, parse };
}

/** The setting is the URL of a PostgreSQL database. It may hold a password, so no message repeats it. */
export function postgresUrl(env: string): SettingRow<string, undefined> {
  return { ...url(env, ['postgres', 'postgresql']), secret: true };
}

/** Networks such as `127.0.0.0/8,fd00::/8`. The default is an empty list. */
export function cidrList(env: string): SettingRow<readonly string[]> {
  const parse = (value: string) => value.split(',').map((part) => cidr(part.trim()));
  return { env, type: 'CIDRs separated by commas', default: [], parse };
}

/** Folders and origins of servers, such as `/srv/exports,https://minio.local:9000`. The default is an empty list. */
export function places(env: string): SettingRow<readonly string[]> {
  const parse = (value: string) => value.split(',').map((part) => place(part.trim()));
  return { env, type: 'folders and origins separated by commas', default: [], parse };
}

function place(value: string): string {
  if (/^https?:\/\//i.test(value) && URL.canParse(value)) return new URL(value).origin;
  // Nobody means the root of the machine.
  if (value.startsWith('/') && resolve(value) !== '/') return resolve(value);
  throw new Error(
    `"${value}" is neither a folder such as /srv/exports nor an origin such as https://host:9000`,
  );
}

function cidr(value: string): string {
  const [address = '', prefix = '', ...rest] = value.split('/');
  const version = isIP(address);
  const longest = version === 4 ? 32 : 128;
  const isPrefix = /^\d{1,3}$/.test(prefix) && Number(prefix) <= longest;
  if (version === 0 || !isPrefix || rest.length > 0) {
    throw new Error(`"${value}" is not a network such as 10.0.0.0/8 or fd00::/8`);
  }
  return value;
}

function within(given: string, value: number, min: number, max: number): number {
  if (!Number.isSafeInteger(value) || value < min || value > max) {
    throw new Error(`"${given}" is not a whole number from ${min} to ${max}`);
  }
  return value;
}

function member<const T extends string>(values: readonly T[], value: string): T {
  const found = values.find((candidate) => candidate === value);
  if (found === undefined) throw new Error(`"${value}" is not one of ${values.join(', ')}`);
  return found;
}
