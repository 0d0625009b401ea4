import { invalidInput } from '../kernel/errors.ts';
import { formatMicros } from '../kernel/instant.ts';
import { assertHeaderName } from './custom-headers.ts';
import type { OwnTls } from './delivery/connection-pool.ts';
import type { DeliveryChange, DeliverySettings } from './delivery-settings.contract.ts';
import type { SecretBox } from './secret.ts';
import { newKeyPair, privateKeyOf, type Signing } from './signature.ts';
import { changeTls, contextOf, type TlsKeys } from './tls-settings.ts';

/** The keys that belong to an endpoint's settings of delivery. */
type Keys = {
  readonly signature_secret?: string;
  readonly private_key?: string;
  /** Those that were replaced, the newest first, and until when each signs (milliseconds since 1970). */
  readonly previous_keys?: readonly { readonly private_key: string; readonly until: number }[];
  readonly tls?: TlsKeys;
};

/** How an endpoint is sent to, and the keys of that. Without settings that differ from the defaults, both are null. */
export type StoredDelivery = {
  readonly delivery: DeliverySettings | null;
  readonly delivery_keys: Buffer | null;
};

/**
 * Applies a change to the settings of the endpoint with this id; null puts all back to their defaults. Keys that no key of
 * the box opens are gone, which is the way out of a lost key. `nowSeconds` is the database's time, since 1970, by which
 * keys sign. Throws 400 `request_invalid` for what cannot be sent.
 */
export function changeDelivery(
  box: SecretBox,
  { id, nowSeconds }: { id: string; nowSeconds: number },
  before: StoredDelivery,
  change: DeliveryChange | null,
): StoredDelivery {
  if (change === null) return { delivery: null, delivery_keys: null };
  const { signature, asymmetric, tls, ...plain } = change;
  const known = knownKeys(box, id, before.delivery_keys);
  const nowMillis = nowSeconds * 1000;
  const signed = signature === undefined ? unchanged : signatureAfter(signature, known);
  const paired =
    asymmetric === undefined
      ? unchanged
      : pairAfter(asymmetric ?? false, { before, known, nowMillis });
  const secured = tls === undefined ? unchanged : tlsAfter(tls, known, nowMillis);
  const keys = withoutNulls<Keys>({ ...known, ...signed.keys, ...paired.keys, ...secured.keys });
  const delivery = withoutNulls<DeliverySettings>({
    ...before.delivery,
    ...plain,
    ...signed.delivery,
    ...paired.delivery,
    ...secured.delivery,
  });
  return {
    delivery: isEmpty(delivery) ? null : delivery,
    delivery_keys: isEmpty(keys) ? null : box.seal(JSON.stringify(keys), id),
  };
}

/** Refuses a signature that would go under the name of a header of the endpoint's own. Throws 400 `request_invalid`. */
export function refuseSameHeader(
  { delivery }: Pick<StoredDelivery, 'delivery'>,
  headerNames: readonly string[],
): void {
  const name = delivery?.signature?.header.toLowerCase();
  if (name === undefined || !headerNames.some((other) => other.toLowerCase() === name)) return;
  throw invalidInput('/delivery/signature/header', `${name} is among the headers to add`);
}

/** What the keys of an endpoint make: what signs beside its secrets, and what its connections are made with. */
export type OpenedDelivery = Signing & { readonly tls: OwnTls | null };

/** Opens the keys of the endpoint with this id; `version` tells one set from another. Throws when no key opens them. */
export function openDelivery(
  box: SecretBox,
  { id, version }: { id: string; version: number },
  stored: StoredDelivery,
): OpenedDelivery {
  const { delivery, delivery_keys: sealed } = stored;
  const keys = sealed === null ? {} : openKeys(box, id, sealed);
  const { signature_secret: secret, private_key: present, previous_keys: old = [], tls } = keys;
  const own = delivery?.signature;
  const pairs = present === undefined ? [] : [{ private_key: present, until: null }, ...old];
  return {
    keys: pairs.map(({ private_key: key, until }) => ({
      key: privateKeyOf(key),
      untilMillis: until,
    })),
    own: own ? { ...own, key: secret === undefined ? null : Buffer.from(secret) } : null,
    tls: tls === undefined ? null : { id: `${id}/${version}`, context: contextOf(tls) },
  };
}

type Part = { delivery: Record<string, unknown>; keys: Record<string, unknown> };
const unchanged: Part = { delivery: {}, keys: {} };

function signatureAfter(change: DeliveryChange['signature'], known: Keys): Part {
  if (change == null) return { delivery: { signature: null }, keys: { signature_secret: null } };
  const { header, value, signs = '{body}' } = change;
  const path = '/delivery/signature';
  assertHeaderName(`${path}/header`, header);
  const isPrintable = /^[!-~](?:[ -~]*[!-~])?$/.test(value);
  const mark = /\{(?:hex|base64)\}/g;
  if (!isPrintable || value.match(mark)?.length !== 1 || !isFilled(value.replace(mark, ''))) {
    const text =
      'must be printable ASCII with one {hex} or {base64}, and beside it {id} and {timestamp} alone';
    throw invalidInput(`${path}/value`, text);
  }
  if (signs.split('{body}').length !== 2 || !isFilled(signs.replace('{body}', ''))) {
    throw invalidInput(
      `${path}/signs`,
      'must have one {body}, and beside it {id} and {timestamp} alone',
    );
  }
  const secret = change.secret === undefined ? known.signature_secret : change.secret;
  const has_own_secret = secret != null;
  return {
    delivery: { signature: { header, value, signs, has_own_secret } },
    keys: { signature_secret: secret ?? null },
  };
}

/** Whether no braces are left once what is known is filled in. */
function isFilled(template: string): boolean {
  return !/[{}]/.test(template.replace(/\{(?:id|timestamp)\}/g, ''));
}

/** How long a key that was replaced signs beside the new one, and how many such keys do, at most. */
const [overlapMillis, mostPrevious] = [86_400_000, 5];

function pairAfter(
  wanted: boolean | 'new',
  { before, known, nowMillis }: { before: StoredDelivery; known: Keys; nowMillis: number },
): Part {
  if (wanted === false) {
    return {
      delivery: { public_key: null, previous_key_until: null },
      keys: { private_key: null, previous_keys: null },
    };
  }
  const present = known.private_key;
  if (wanted === true && before.delivery?.public_key !== undefined && present !== undefined) {
    return unchanged;
  }
  const pair = newKeyPair();
  const fresh = {
    delivery: { public_key: pair.publicKey },
    keys: { private_key: pair.privateKey },
  };
  if (present === undefined) return fresh;
  const until = nowMillis + overlapMillis;
  const signing = (known.previous_keys ?? []).filter((old) => old.until > nowMillis);
  const previous = [{ private_key: present, until }, ...signing].slice(0, mostPrevious);
  return {
    delivery: { ...fresh.delivery, previous_key_until: formatMicros(until * 1000) },
    keys: { ...fresh.keys, previous_keys: previous },
  };
}

/** Ends the keys that were replaced: only the present one signs. */
export function endPreviousKeys(
  box: SecretBox,
  id: string,
  before: StoredDelivery,
): StoredDelivery {
  if (before.delivery?.previous_key_until === undefined) return before;
  const { previous_keys: _ended, ...keys } = knownKeys(box, id, before.delivery_keys);
  const { previous_key_until: _until, ...delivery } = before.delivery;
  return { delivery, delivery_keys: box.seal(JSON.stringify(keys), id) };
}

function tlsAfter(change: DeliveryChange['tls'], known: Keys, nowMillis: number): Part {
  const { keys, shown } = changeTls(known.tls, change ?? null, nowMillis);
  return { delivery: { tls: shown ?? null }, keys: { tls: keys ?? null } };
}

function knownKeys(box: SecretBox, id: string, sealed: Buffer | null): Keys {
  try {
    return sealed === null ? {} : openKeys(box, id, sealed);
  } catch {
    return {};
  }
}

function openKeys(box: SecretBox, id: string, sealed: Buffer): Keys {
  return JSON.parse(box.open(sealed, id)) as Keys;
}

function withoutNulls<Fields extends object>(fields: object): Fields {
  const set = Object.entries(fields).filter(([, value]) => value !== null);
  return Object.fromEntries(set) as Fields;
}

function isEmpty(fields: object): boolean {
  return Object.keys(fields).length === 0;
}
