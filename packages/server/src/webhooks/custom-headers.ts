import { invalidInput } from '../kernel/errors.ts';
import type { SecretBox } from './secret.ts';

/** Headers that an operator adds to each request to an endpoint, such as Authorization, by their names. */
export type CustomHeaders = Readonly<Record<string, string>>;

/** What changes of them: a null takes the header of that name away, and a null instead of all takes all away. */
type HeadersChange = Readonly<Record<string, string | null>> | null;

/** Custom headers as they are stored: their names, and the sealed names and values; null where there are none. */
export type SealedHeaders = { readonly header_names: string[]; readonly headers: Buffer | null };

const mostHeaders = 20;
const mostCharacters = 8192;

/** RFC 9110 §5.6.2: a token. */
const nameForm = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
/** Printable ASCII that neither begins nor ends with a space: more is not understood alike everywhere. */
const valueForm = /^[!-~](?:[ -~]*[!-~])?$/;
/** What is ours to say, and what belongs to the connection. */
const refusedNames =
  /^(?:host|content-.*|transfer-encoding|connection|keep-alive|upgrade|te|trailer|expect|proxy-.*|user-agent|webhook-.*|traceparent|tracestate)$/;

/** Applies a change to headers, whatever the case of names. Throws 400 `request_invalid` for what cannot be sent. */
export function changeHeaders(before: CustomHeaders, change: HeadersChange): CustomHeaders {
  if (change === null) return {};
  const headers = new Map(
    Object.entries(before).map(([name, value]) => [name.toLowerCase(), { name, value }]),
  );
  const named = new Set<string>();
  for (const [name, given] of Object.entries(change)) {
    const key = name.toLowerCase();
    const value = key === 'authorization' && given !== null ? encodeBasic(given) : given;
    const path = `/headers/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    assertHeaderName(path, name);
    if (named.has(key))
      throw invalidInput(path, `${name} is named twice: case makes no difference`);
    if (value !== null && !valueForm.test(value)) {
      throw invalidInput(path, `${name} must be printable ASCII, without spaces at its ends`);
    }
    named.add(key);
    if (value === null) headers.delete(key);
    else headers.set(key, { name, value });
  }
  const all = [...headers.values()];
  const characters = all.reduce((sum, { name, value }) => sum + name.length + value.length, 0);
  if (all.length > mostHeaders || characters > mostCharacters) {
    throw invalidInput(
      '/headers',
      `are ${all.length} of ${characters} characters; at most ${mostHeaders} of ${mostCharacters} go with a request`,
    );
  }
  return Object.fromEntries(all.map(({ name, value }) => [name, value]));
}

/** What no header may have, and what would be sent unseen if it were encoded. */
const unseenForm = / $|[\p{Cc}\p{Cs}]/u;

/**
 * Encodes `Basic user:password` (RFC 7617, as UTF-8). What is encoded has no colon, and stays as it is; so does what is
 * to be refused.
 */
function encodeBasic(value: string): string {
  if (unseenForm.test(value)) return value;
  const [, credentials] = /^basic +([^:]*:.*)$/is.exec(value) ?? [];
  return credentials === undefined ? value : `Basic ${Buffer.from(credentials).toString('base64')}`;
}

/** Throws 400 `request_invalid` unless an operator may say what a header of this name holds. */
export function assertHeaderName(path: string, name: string): void {
  if (!nameForm.test(name)) throw invalidInput(path, `${name} is not the name of a header`);
  if (refusedNames.test(name.toLowerCase())) {
    throw invalidInput(path, `${name} is set by the service itself`);
  }
}

export function sealHeaders(box: SecretBox, id: string, headers: CustomHeaders): SealedHeaders {
  const header_names = Object.keys(headers);
  const isNone = header_names.length === 0;
  return { header_names, headers: isNone ? null : box.seal(JSON.stringify(headers), id) };
}

/** Opens the headers of the endpoint with this id. Throws when the key is not known. */
export function openHeaders(box: SecretBox, id: string, sealed: Buffer | null): CustomHeaders {
  return sealed === null ? {} : (JSON.parse(box.open(sealed, id)) as CustomHeaders);
}
