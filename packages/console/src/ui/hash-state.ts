import type { Slice } from './words.ts';

// The whole view state is in the hash, as a plain query string: #/records?tenant=TX&month=2001-03.

type Search = Record<string, unknown>;

/** Reads the query of a hash as text, which each page understands. The first of repeated names counts. */
export function parseSearch(text: string): Record<string, string> {
  const search: Record<string, string> = {};
  for (const [name, value] of new URLSearchParams(text.replace(/^\?/, ''))) search[name] ??= value;
  return search;
}

/** Writes the query of a hash. Fields without a value are left out; without any the text is ''. */
export function stringifySearch(search: Search): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    if (typeof value === 'number' || typeof value === 'boolean') params.set(name, `${value}`);
    else if (typeof value === 'string' && value !== '') params.set(name, value);
  }
  // Slashes and colons need no escape in a hash, so they stay as people type them.
  const text = params.toString().replaceAll('%2F', '/').replaceAll('%3A', ':');
  return text === '' ? '' : `?${text}`;
}

type SignInSearch = { code?: string; answer?: string; from?: string };

/** Reads the hash of the sign-in page: a code or an answer to sign in by, and the place to go to afterwards. */
export function validateSignInSearch(search: Search): SignInSearch {
  const { code, answer, from } = search;
  return {
    ...(typeof code === 'string' && code !== '' ? { code } : {}),
    ...(typeof answer === 'string' && answer !== '' ? { answer } : {}),
    ...(typeof from === 'string' && isPlace(from) ? { from } : {}),
  };
}

/** Whether a text is a path of the console with its search, and not the sign-in page itself. */
function isPlace(text: string): boolean {
  return /^\/(?![/\\])/.test(text) && !text.startsWith('/sign-in');
}

/** Reads a path such as `TX`, `TX/DFW`, `TX / DFW / 2001-03` or `TX/D`: its level, and the prefix on that level. */
export function parseSlicePath(text: string): {
  level: 'tenant' | 'store' | 'month';
  tenant?: string;
  store?: string;
  q?: string;
} {
  const parts = text.split(/[/›]/).map((part) => part.trim());
  const [first = '', second = '', third = ''] = parts;
  const prefix = (q: string) => (q === '' ? {} : { q });
  if (parts.length < 2 || first === '') return { level: 'tenant', ...prefix(first) };
  if (parts.length < 3 || second === '') {
    return { level: 'store', tenant: first, ...prefix(second) };
  }
  return { level: 'month', tenant: first, store: second, ...prefix(third) };
}

/** A value of the hash as text that fits the pattern, else undefined. The router makes a number of `tenant=5`. */
export function textOf(value: unknown, pattern = /./s): string | undefined {
  const string = typeof value === 'number' ? String(value) : value;
  return typeof string === 'string' && pattern.test(string) ? string : undefined;
}

/** A copy without the fields that have no value: a hash says only what was chosen. */
export function withoutUndefined<T extends object>(
  fields: T,
): {
  [Key in keyof T]?: Exclude<T[Key], undefined>;
} {
  const set = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(set) as { [Key in keyof T]?: Exclude<T[Key], undefined> };
}

/** A link to the records of a slice. */
export function sliceHref(slice: Slice): string {
  const { tenant, store, month, from, to } = slice;
  const params = new URLSearchParams();
  // In RECORDS a month belongs to a store; of a whole tenant one can only choose days.
  const place = { tenant, store, month: store === undefined ? undefined : month, from, to };
  for (const [name, value] of Object.entries(place)) {
    if (value !== undefined) params.set(name, value);
  }
  return `#/records?${params}`;
}

/** The change of a search that removes these filters, and with them the cursor, which belonged to them. */
export function noneOf<Name extends string>(
  filters: Readonly<Record<Name, unknown>>,
): Readonly<Record<Name | 'cursor', undefined>> {
  const names = [...Object.keys(filters), 'cursor'];
  return Object.fromEntries(names.map((name) => [name, undefined])) as Record<Name, undefined> & {
    cursor: undefined;
  };
}

/** The values of these filters in a search; undefined where one is not set. */
export function filtersOf(search: object, filters: object): unknown[] {
  return Object.keys(filters).map((name) => (search as Search)[name]);
}

/** Whether a search has one of these filters. */
export function hasFilter(search: object, filters: object): boolean {
  return filtersOf(search, filters).some((value) => value !== undefined);
}
