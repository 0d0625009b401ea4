import type { Slice } from './words.ts';

// All view state stands in the hash, as a plain query string: #/records?tenant=TX&month=2001-03.

type Search = Record<string, unknown>;

/** Every value is text; what it means is for the route to say. The first of repeated names counts. */
export function parseSearch(text: string): Record<string, string> {
  const search: Record<string, string> = {};
  for (const [name, value] of new URLSearchParams(text.replace(/^\?/, ''))) search[name] ??= value;
  return search;
}

/** What has no value is left out: '' when nothing has. */
export function stringifySearch(search: Search): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    if (typeof value === 'number' || typeof value === 'boolean') params.set(name, `${value}`);
    else if (typeof value === 'string' && value !== '') params.set(name, value);
  }
  // As people type it: these need no escape behind the hash.
  const text = params.toString().replaceAll('%2F', '/').replaceAll('%3A', ':');
  return text === '' ? '' : `?${text}`;
}

type SignInSearch = { code?: string | undefined; from?: string | undefined };

/** The one-time code of a link, and the place to go to after signing in: one of this console only. */
export function validateSignInSearch(search: Search): SignInSearch {
  const { code, from } = search;
  return {
    ...(typeof code === 'string' && code !== '' ? { code } : {}),
    ...(typeof from === 'string' && isPlace(from) ? { from } : {}),
  };
}

/** A path of the console with its search, and not the sign-in page itself. */
function isPlace(text: string): boolean {
  return /^\/(?![/\\])/.test(text) && !text.startsWith('/sign-in');
}

/** What a path such as `TX`, `TX/DFW`, `TX / DFW / 2001-03` or `TX/D` may name: a level and a prefix. */
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

/** A value of the hash as text; the router reads `tenant=5` as a number, here it is a name. */
export function textOf(value: unknown, pattern = /./s): string | undefined {
  const string = typeof value === 'number' ? String(value) : value;
  return typeof string === 'string' && pattern.test(string) ? string : undefined;
}

/** Without the fields that have no value: a hash says only what was chosen. */
export function withoutUndefined<T extends object>(
  fields: T,
): {
  [Key in keyof T]?: Exclude<T[Key], undefined>;
} {
  const set = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(set) as { [Key in keyof T]?: Exclude<T[Key], undefined> };
}

/** A link to an export job, in its drawer. */
export function exportHref(id: string): string {
  return `#/exports?open=${encodeURIComponent(id)}`;
}

/** A link to the records of a slice. */
export function sliceHref(slice: Slice): string {
  const { tenant, store, month, from, to } = slice;
  const params = new URLSearchParams();
  // A month is a leaf of a store there; of a whole tenant there are only days.
  const place = { tenant, store, month: store === undefined ? undefined : month, from, to };
  for (const [name, value] of Object.entries(place)) {
    if (value !== undefined) params.set(name, value);
  }
  return `#/records?${params}`;
}
