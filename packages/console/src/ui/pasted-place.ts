import { decodeRecord, encodeRecord, type RecordIdentity } from '../records/search.ts';

/** Where a pasted text leads: a place of this console, or one record. */
export type PastedPlace =
  | { readonly type: 'link'; readonly href: string }
  | { readonly type: 'record'; readonly name: string; readonly search: RecordPlace };

type RecordPlace = { tenant: string; store: string; month: string; record: string };

const oneRecordPath = '/api/v1/enrichment/records/one';

/**
 * Reads a copied link of this console, a link to one record in the API, or a record's identity as it
 * stands in a link: `TX/DFW/2001-03-01T00:05:00.000000Z/fl-0812`. Undefined for any other text, also for
 * links of other hosts: they may look alike and hold other data.
 */
export function parsePlace(text: string, origin: string): PastedPlace | undefined {
  const pasted = text.trim();
  if (isPlaceHash(pasted)) return { type: 'link', href: pasted.slice(1) };
  const url = URL.canParse(pasted) ? new URL(pasted) : undefined;
  if (url === undefined) return placeOf(decodeRecord(pasted));
  if (url.origin !== origin) return undefined;
  if (url.pathname === oneRecordPath) return placeOf(identityOf(url.searchParams));
  return isPlaceHash(url.hash) ? { type: 'link', href: url.hash.slice(1) } : undefined;
}

/** `#/` and a name: `#//host` would be a path of another host to a browser's history. */
function isPlaceHash(hash: string): boolean {
  return /^#\/[^/\\]/.test(hash);
}

function placeOf(identity: RecordIdentity | null): PastedPlace | undefined {
  if (identity === null || !/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(identity.occurred_at))
    return undefined;
  const { tenant, store, occurred_at } = identity;
  const name = encodeRecord(identity);
  return {
    type: 'record',
    name,
    search: { tenant, store, month: occurred_at.slice(0, 7), record: name },
  };
}

function identityOf(params: URLSearchParams): RecordIdentity | null {
  const names = ['tenant', 'store', 'occurred_at', 'event_id'];
  return decodeRecord(names.map((name) => params.get(name) ?? '').join('/'));
}
