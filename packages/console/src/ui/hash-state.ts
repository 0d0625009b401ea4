// All view state stands in the hash, as a plain query string: #/records?tenant=TX&month=2001-03.

export type Search = Record<string, unknown>;

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

export type SignInSearch = { code?: string | undefined; from?: string | undefined };

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

/** A link to the place shown now, to copy. */
export function currentLink(): string {
  return window.location.href;
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
