import { basePath } from '../api/values.ts';
import { decodeRecord, encodeRecord, type RecordIdentity } from '../records/search.ts';
import { panelHref } from '../ui/panel-place.ts';

/** What a pasted text names: a place of this console, or one record. `href` is a hash. */
type PastedPlace = {
  readonly type: 'link' | 'record';
  readonly name: string;
  readonly href: string;
};

const oneRecordPath = `${basePath}/enrichment/records/one`;

/**
 * Reads a link of this console, a link to one record in the API, or a record's identity as links have it:
 * `TX/DFW/2001-03-01T00:05:00.000000Z/fl-0812`. Undefined for any other text, and for links to other hosts, which may
 * look alike but hold other data.
 */
export function parsePlace(text: string, origin: string): PastedPlace | undefined {
  const pasted = text.trim();
  if (isPlaceHash(pasted)) return linkTo(pasted);
  const url = URL.canParse(pasted) ? new URL(pasted) : undefined;
  if (url === undefined) return placeOf(decodeRecord(pasted));
  if (url.origin !== origin) return undefined;
  if (url.pathname === oneRecordPath) return placeOf(identityOf(url.searchParams));
  return isPlaceHash(url.hash) ? linkTo(url.hash) : undefined;
}

function linkTo(href: string): PastedPlace {
  return { type: 'link', name: href.slice(1), href };
}

/** Whether a hash is `#/` and a name. A browser's history would take `#//host` for a path of another host. */
function isPlaceHash(hash: string): boolean {
  return /^#\/[^/\\]/.test(hash);
}

/** The place of a record; undefined when its time is no instant. */
export function placeOf(identity: RecordIdentity | null): PastedPlace | undefined {
  if (identity === null || !/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(identity.occurred_at))
    return undefined;
  const { tenant, store, occurred_at } = identity;
  const name = encodeRecord(identity);
  const node = { tenant, store, month: occurred_at.slice(0, 7) };
  return { type: 'record', name, href: panelHref('/records', { kind: 'record', id: name }, node) };
}

function identityOf(params: URLSearchParams): RecordIdentity | null {
  const names = ['tenant', 'store', 'occurred_at', 'event_id'];
  return decodeRecord(names.map((name) => params.get(name) ?? '').join('/'));
}
