import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { ApiError, api } from '../api/client.ts';
import type { DatasetRow, Page } from '../api/types.ts';
import { namesOf, pathOf } from '../records/search.ts';
import { formatCount } from '../ui/format.ts';
import { parseSlicePath, stringifySearch } from '../ui/hash-state.ts';
import { describeFailure } from '../ui/outage.ts';
import { useSession } from '../ui/session.ts';
import { notify } from '../ui/toasts.tsx';
import { pathText } from '../ui/words.ts';
import type { Finding } from './find-id.ts';
import { eventWord, idKindOf, isCutId, isSecret } from './id-kinds.ts';
import { type Entry, parseVerb, useChosenNode } from './palette-actions.ts';
import { parsePlace } from './pasted-place.ts';

/** What a text leads to. */
export type Search = {
  readonly entries: readonly Entry[];
  /** What to say below the entries: that the search runs, or why it failed. Null says how many there are. */
  readonly state: string | null;
  readonly isSearching: boolean;
};

const waitMillis = 120;
const nothing: Search = { entries: [], state: null, isSearching: false };

/** Looks up what is pasted or typed: a link, a record, an id, or else a tenant, store or month by its path. */
export function useSearchOf(text: string): Search {
  const { hasScope } = useSession();
  const place = parsePlace(text, window.location.origin);
  const isId = idKindOf(text) !== undefined;
  const isSpecial = place !== undefined || isId || isSecret(text) || isCutId(text);
  const ids = useId(isId ? text.trim() : '');
  const { verb, rest } = parseVerb(text, hasScope);
  const slices = useSlices(isSpecial ? '' : rest, verb?.isOfTenant ?? false);
  if (isSecret(text)) return { ...nothing, state: 'This is a secret: it is not looked up.' };
  if (isCutId(text)) {
    return { ...nothing, state: 'This id was cut. Copy it whole, by the button beside it.' };
  }
  if (place !== undefined) {
    const note = place.type === 'link' ? 'Open this link' : 'Open this record';
    return { ...nothing, entries: [{ ...place, id: 'pasted', group: 'FOUND', note }] };
  }
  if (isId) return ids;
  const entries = slices.rows.map((row): Entry => {
    const path = pathOf(row.tenant, row.store, row.month);
    const name = pathText(namesOf(path));
    return {
      id: `slice-${name}`,
      group: 'FOUND',
      name: verb === undefined ? name : `${verb.name} ${name}…`,
      note: `${formatCount(row.count)} records`,
      href: verb === undefined ? `#/records${stringifySearch(path)}` : verb.hrefOf(path),
    };
  });
  if (entries.length === 0 && slices.state === null && mayBeEvent(rest) && verb === undefined) {
    entries.push(eventEntry(rest.trim()));
  }
  return { entries, state: slices.state, isSearching: slices.isSearching };
}

/** Whether a text that is no path may be the id of an event. Shorter ones are words that somebody has begun to type. */
function mayBeEvent(text: string): boolean {
  return text.trim().length >= 4 && /\d/.test(text);
}

/** Offers to look for an event, which takes longer than to look up a path or an id. */
function eventEntry(id: string): Entry {
  const name = `Find the event ${id}`;
  const note = 'in all records, by its whole id';
  return { id: 'event', group: 'FOUND', name, note, fill: `${eventWord} ${id}` };
}

/** What an id leads to; an empty text is not looked up. */
function useId(text: string): Search {
  const { hasScope } = useSession();
  const tenant = useChosenNode()?.tenant;
  const [id] = useDebouncedValue(text, waitMillis);
  const kind = idKindOf(text);
  const isAllowed = kind !== undefined && hasScope(kind.scope);
  const query = useQuery({
    queryKey: ['palette', 'id', id, tenant ?? null],
    queryFn: async ({ signal }) => {
      const kindOfId = idKindOf(id);
      if (kindOfId === undefined) return [];
      // Few who open the palette look up an id.
      const { findId } = await import('./find-id.ts');
      return findId(kindOfId, id, { tenant, signal }).catch(unlessUnknown);
    },
    enabled: id !== '' && isAllowed,
    staleTime: 0,
    gcTime: 0,
  });
  if (kind === undefined) return nothing;
  if (!isAllowed) {
    const state = `To look up this ${kind.noun}, a token needs the scope ${kind.scope}.`;
    return { ...nothing, state };
  }
  if (query.error !== null) {
    return { ...nothing, state: `${describeFailure(query.error)}: search later.` };
  }
  if (query.data === undefined || id !== text) {
    return { ...nothing, state: 'Searching …', isSearching: true };
  }
  const entries = query.data.map((finding, index) => toEntry(finding, `id-${index}`));
  const named = kind.noun === eventWord ? id : `${kind.noun} ${id}`;
  const state = `There is no ${named}, or no longer. An id is found when it is whole.`;
  return { entries, state: entries.length === 0 ? state : null, isSearching: false };
}

/** An id that the service does not know is no failure of the search. */
function unlessUnknown(error: unknown): [] {
  if (error instanceof ApiError && error.status === 404) return [];
  throw error;
}

function toEntry({ name, note, href, command }: Finding, id: string): Entry {
  const copy = (line: string) => async () => {
    await navigator.clipboard.writeText(line);
    notify({ text: `Copied: ${line}` });
  };
  const run = command === undefined ? undefined : () => void copy(command)();
  return { id, group: 'FOUND', name, note, href, run };
}

const mostFound = 8;

/** Tenants, stores or months below the typed path. A name is searched as it was typed, then in capitals. */
function useSlices(text: string, isOfTenant: boolean) {
  const { hasScope } = useSession();
  const [path] = useDebouncedValue(text.trim(), waitMillis);
  const isAllowed = hasScope('enrichment:read');
  const query = useQuery({
    queryKey: ['palette', 'slices', path, isOfTenant],
    queryFn: async ({ signal }) => {
      const rows = await findSlices(path, isOfTenant, signal);
      return rows.length > 0 || path === path.toUpperCase()
        ? rows
        : findSlices(path.toUpperCase(), isOfTenant, signal);
    },
    enabled: path !== '' && isAllowed,
    placeholderData: keepPreviousData,
  });
  if (!isAllowed || text.trim() === '') return { rows: [], state: null, isSearching: false };
  // Until the answer for this text is there, the rows shown belong to the previous text.
  const isSearching = query.isPending || query.isPlaceholderData || path !== text.trim();
  const rows = query.data ?? [];
  if (query.error !== null) {
    const state = `${describeFailure(query.error)}: search later.`;
    return { rows, state, isSearching: false };
  }
  return { rows, state: isSearching ? 'Searching …' : null, isSearching };
}

/** The nodes below a path; for one name alone, the tenants that begin so, and then the stores of any tenant. */
async function findSlices(
  path: string,
  isOfTenant: boolean,
  signal: AbortSignal,
): Promise<DatasetRow[]> {
  const place = parseSlicePath(path);
  const read = async (params: object) =>
    (
      await api.get<Page<DatasetRow>>(
        '/enrichment/datasets',
        { ...params, limit: mostFound },
        signal,
      )
    ).data;
  if (place.level !== 'tenant' || isOfTenant) return read(place);
  const found = await Promise.all([read(place), read({ ...place, level: 'store' })]);
  return found.flat();
}
