import type { DatasetRow } from '../api/types.ts';
import { type DatasetName, datasetNames } from '../api/values.ts';
import {
  type DayRange,
  dayPattern,
  daysIn,
  earliestDay,
  latestDay,
  monthEnds,
} from '../ui/days.ts';
import { textOf, withoutUndefined } from '../ui/hash-state.ts';
import { panelText, parsePanel, readPanel } from '../ui/panel-place.ts';
import { withTimes } from './times.ts';

/** The view state of the page RECORDS, as the hash has it: a copied link opens exactly this. */
export type RecordsSearch = {
  tenant?: string;
  store?: string;
  /** The month of the chosen leaf, `YYYY-MM`. */
  month?: string;
  /** Open nodes of the tree, see `encodeOpen`. */
  open?: string;
  /** Search in the tree: a prefix of tenants, or `TX/D` for stores of TX. */
  q?: string;
  /** By what the tree is sorted, the largest first; undefined means by name. */
  sort?: TreeSort;
  kind?: string;
  source?: string;
  /** Filter: only records of the event with this id. */
  event?: string;
  /** Filter: only records with a tag of this dataset. */
  dataset?: DatasetName;
  /** Filter: what must hold of a record, in the words of docs/where.md. */
  where?: string;
  /** The count of what fits the filters that was asked for. */
  count?: string;
  /** First and last day within the node, inclusive. Each may be given alone. */
  from?: string;
  to?: string;
  limit?: number;
  /** The order of a store's records, if not the oldest first; of a tenant's, if not store by store. */
  order?: 'desc' | TimeOrder;
  /** Where the first page begins, if not with the first record: a time where the order has one, or `last` for the last page. */
  start?: string;
  /** Whether what is stored appears by itself. */
  live?: true;
  cursor?: string;
  /** How many records come before this page. Known only when the page was reached by paging. */
  at?: number;
  /** The view of the node; undefined means its records. */
  view?: RecordsView;
  /** What the fields are compared with: see the parameter of the API. */
  against?: string;
  /** The last year of the calendar; undefined means the year of the last record. */
  year?: number;
  panel?: string;
};

const treeSorts = ['count', 'bytes'] as const;
export type TreeSort = (typeof treeSorts)[number];

/** The orders of the records of all stores of a tenant by time. */
const timeOrders = ['newest', 'oldest'] as const;
type TimeOrder = (typeof timeOrders)[number];

/**
 * The panels of the page: a record by its identity (see `encodeRecord`), a field by its key, a dataset version by its id, the export of
 * what is chosen or of a version by its id, a new tag, a new version, and the erasure of what is chosen or of a record's
 * event.
 */
export const recordsPanels = [
  'record',
  'field',
  'version',
  'export',
  'tag',
  'freeze',
  'erase',
] as const;

export const recordsViews = ['records', 'days', 'facts', 'tags', 'versions'] as const;
/** The views of a node. */
export type RecordsView = (typeof recordsViews)[number];

/** How many records a page may have. */
export const pageSizes = [100, 200, 500] as const;
const defaultPageSize = 100;

const startPattern = /^(last|\d{4}-\d\d-\d\dT[\d:.]+Z)$/;
const monthPattern = /^\d{4}-(0[1-9]|1[0-2])$/;
const againstPattern = new RegExp(`^all$|^(${datasetNames.join('|')})$|${monthPattern.source}`);

/** Reads the view state from a hash. What it cannot understand is dropped, so that an old link still opens. */
export function validateRecordsSearch(search: Record<string, unknown>): RecordsSearch {
  const tenant = textOf(search.tenant);
  const store = tenant && textOf(search.store);
  const month = store && textOf(search.month, monthPattern);
  const limit = pageSizes.find((size) => size === Number(search.limit));
  const at = Number(search.at);
  const year = Number(search.year);
  const view = recordsViews.find((name) => name !== 'records' && name === search.view);
  const dataset =
    tenant === undefined ? undefined : datasetNames.find((name) => name === search.dataset);
  const where = textOf(search.where);
  const event = textOf(search.event);
  const order = orderOf(search.order, { tenant, store, event });
  const isByTime = store !== undefined || order !== undefined;
  // What comes live has no tags yet.
  const canBeLive = tenant !== undefined && dataset === undefined;
  return withoutUndefined({
    tenant,
    store,
    month,
    open: textOf(search.open),
    q: textOf(search.q),
    sort: treeSorts.find((name) => name === search.sort),
    kind: textOf(search.kind),
    source: textOf(search.source),
    event,
    dataset,
    where,
    count: tenant && textOf(search.count, /^cnt_\w{1,100}$/),
    from: textOf(search.from, dayPattern),
    to: textOf(search.to, dayPattern),
    limit: limit === defaultPageSize ? undefined : limit,
    order,
    start: tenant && textOf(search.start, isByTime ? startPattern : /^last$/),
    live: canBeLive && String(search.live) === 'true' ? true : undefined,
    cursor: textOf(search.cursor),
    at: Number.isSafeInteger(at) && at > 0 ? at : undefined,
    view: tenant === undefined ? undefined : view,
    against: tenant && textOf(search.against, againstPattern),
    year: Number.isInteger(year) && year >= 1970 && year <= 9999 ? year : undefined,
    panel: panelOf(search, tenant),
  });
}

/** The order that a hash names, if the node can have it: an event is searched store by store. */
function orderOf(
  order: unknown,
  { tenant, store, event }: Pick<Changes, 'tenant' | 'store' | 'event'>,
): RecordsSearch['order'] {
  if (store !== undefined) return order === 'desc' ? order : undefined;
  if (tenant === undefined || event !== undefined) return undefined;
  return timeOrders.find((name) => name === order);
}

/** The panel that a hash names. All but those about a record are about the chosen tenant. */
function panelOf(search: Record<string, unknown>, tenant: string | undefined): string | undefined {
  const panel = readPanel(search, recordsPanels, { record: 'record', version: 'version' });
  const place = parsePanel(panel, recordsPanels);
  const isRecord = place?.kind === 'record' || (place?.kind === 'erase' && place.id !== '');
  return tenant === undefined && !isRecord ? undefined : panel;
}

export function pageSizeOf(search: RecordsSearch): number {
  return search.limit ?? defaultPageSize;
}

/** The chosen node; null when there is none. */
export function chosenNode(search: RecordsSearch): NodePath | null {
  return search.tenant === undefined ? null : pathOf(search.tenant, search.store, search.month);
}

/**
 * The view state with another node. Days, their hours and the page belonged to the previous node and go; the other filters
 * and the view stay. So does a panel, unless what it shows belongs to the previous node.
 */
export function chooseNode(search: RecordsSearch, path: NodePath | null): RecordsSearch {
  const { open, q, sort, kind, source, event, limit } = search;
  const where = withTimes(search.where, null);
  const { view, dataset, against } = path === null ? {} : search;
  const panel = path === null ? undefined : panelAt(search, path);
  const filters = { kind, source, event, where, dataset };
  return withoutUndefined({ ...path, open, q, sort, ...filters, limit, view, against, panel });
}

/** The panel that stays open at another node. */
function panelAt(search: RecordsSearch, path: NodePath): string | undefined {
  const place = parsePanel(search.panel, recordsPanels);
  const isOfTenant = place?.id !== undefined && place.id !== '' && search.tenant === path.tenant;
  switch (place?.kind) {
    case 'export':
      return panelText({ kind: 'export', id: isOfTenant ? place.id : '' });
    case 'version':
      return isOfTenant ? search.panel : undefined;
    case 'erase':
      return place.id === '' ? search.panel : undefined;
    case 'tag':
    case 'freeze':
    case 'field':
      return search.panel;
    case 'record':
    case undefined:
      return undefined;
  }
}

/** The view state without a panel of one of these kinds, because what it shows is not in sight any more. */
export function withoutPanel(
  search: RecordsSearch,
  kinds: readonly (typeof recordsPanels)[number][],
): RecordsSearch {
  const isGone = parsePanel(search.panel, kinds) !== undefined;
  return isGone ? changeSearch(search, { panel: undefined }) : search;
}

/** The view state with other filters. The cursor goes, because it belonged to the previous ones, and hours with their days. */
export function changeFilters(
  search: RecordsSearch,
  change: Pick<Changes, 'kind' | 'source' | 'event' | 'where' | 'dataset' | 'from' | 'to'>,
): RecordsSearch {
  const isOfDays = 'from' in change || 'to' in change;
  const where = isOfDays ? withTimes(search.where, null) : search.where;
  const changed = changeSearch(search, { where, ...change, count: undefined, ...firstPage });
  return withoutPanel(changed, ['record']);
}

/** The change that removes all filters. */
export const noFilters = {
  kind: undefined,
  source: undefined,
  event: undefined,
  where: undefined,
  dataset: undefined,
  from: undefined,
  to: undefined,
} as const;

/** The change that leads to the first page. */
export const firstPage = { cursor: undefined, at: undefined, start: undefined } as const;

type Changes = { [Key in keyof RecordsSearch]?: RecordsSearch[Key] | undefined };

/** The view state with these fields changed; `undefined` removes a field. */
export function changeSearch(search: RecordsSearch, change: Changes): RecordsSearch {
  return validateRecordsSearch({ ...search, ...change });
}

/** A slice as parameters of the API. */
export type SliceParams = {
  tenant: string;
  store?: string;
  month?: string;
  from?: string;
  to?: string;
};

/** The chosen slice as parameters of the API, where `month` and `from`/`to` exclude each other. */
export function sliceOf(search: RecordsSearch): SliceParams | null {
  const { tenant, store, month, from, to } = search;
  if (tenant === undefined) return null;
  const place = { tenant, ...(store === undefined ? {} : { store }) };
  if (from === undefined && to === undefined) {
    return month === undefined ? place : { ...place, month };
  }
  const [first, last] = month === undefined ? [earliestDay, latestDay] : monthEnds(month);
  return { ...place, from: latest(from, first) ?? first, to: earliest(to, last) ?? last };
}

/** The chosen days; null means all. An open end is where the month, or the node's records, begin or end. */
export function chosenDays(
  search: RecordsSearch,
  facts: Pick<DatasetRow, 'first_at' | 'last_at'> | null | undefined,
): DayRange | null {
  const { from, to, month } = search;
  if (from === undefined && to === undefined) return null;
  const [first, last] =
    month === undefined
      ? [facts?.first_at?.slice(0, 10), facts?.last_at?.slice(0, 10)]
      : monthEnds(month);
  const start = from ?? earliest(first, to);
  const end = to ?? latest(last, from);
  return start === undefined || end === undefined ? null : { from: start, to: end };
}

/** The days of a tag in words: `2001-03`, `2001-02-01 … 2001-03-05`, or all days. */
export function windowText(from: string | null, to: string | null): string {
  if (from === null && to === null) return 'all days';
  if (from === null) return `until ${to}`;
  if (to === null) return `from ${from} on`;
  if (from === to) return from;
  return wholeMonthOf({ from, to }) ?? `${from} … ${to}`;
}

/** The month that these days are from its first to its last; undefined when they are no month. */
export function wholeMonthOf({ from, to }: DayRange): string | undefined {
  const month = from.slice(0, 7);
  return from.endsWith('-01') && to === `${month}-${daysIn(month)}` ? month : undefined;
}

/** Encodes the open nodes in few characters: `TX/DFW/IAH//CA` is TX with DFW and IAH open in it, and CA. */
export function encodeOpen(keys: ReadonlySet<string>): string | undefined {
  const stores = new Map<string, string[]>();
  for (const key of keys) if (!key.includes('/')) stores.set(key, []);
  for (const key of keys) {
    const slash = key.indexOf('/');
    if (slash > 0) stores.get(key.slice(0, slash))?.push(key.slice(slash + 1));
  }
  const parts = [...stores].map(([tenant, inside]) => [tenant, ...inside].join('/'));
  return parts.length === 0 ? undefined : parts.join('//');
}

/** Reads what `encodeOpen` wrote. */
export function decodeOpen(open: string | undefined): Set<string> {
  const keys = new Set<string>();
  for (const part of open?.split('//') ?? []) {
    const [tenant, ...stores] = part.split('/').filter((name) => name !== '');
    if (tenant === undefined) continue;
    keys.add(tenant);
    for (const store of stores) keys.add(`${tenant}/${store}`);
  }
  return keys;
}

/** What identifies a record. */
export type RecordIdentity = {
  tenant: string;
  store: string;
  occurred_at: string;
  event_id: string;
};

/** Encodes a record's identity. The event id comes last, because it may contain `/`. */
export function encodeRecord(identity: RecordIdentity): string {
  const { tenant, store, occurred_at, event_id } = identity;
  return [tenant, store, occurred_at, event_id].join('/');
}

/** Reads what `encodeRecord` wrote; null for any other text. */
export function decodeRecord(key: string | undefined): RecordIdentity | null {
  const [tenant, store, occurred_at, ...event] = key?.split('/') ?? [];
  if (!tenant || !store || !occurred_at || event.length === 0) return null;
  return { tenant, store, occurred_at, event_id: event.join('/') };
}

/** The latest of those days that are given. */
function latest(...days: (string | undefined)[]): string | undefined {
  return days
    .filter((day) => day !== undefined)
    .sort()
    .at(-1);
}

function earliest(...days: (string | undefined)[]): string | undefined {
  return days.filter((day) => day !== undefined).sort()[0];
}

/** A node of the tree tenant → store → month. There is no store without a tenant, and no month without a store. */
export type NodePath =
  | { tenant: string; store?: undefined; month?: undefined }
  | { tenant: string; store: string; month?: undefined }
  | { tenant: string; store: string; month: string };

type NodeLevel = 'tenant' | 'store' | 'month';

/** The key of a node: `TX`, `TX/DFW`, `TX/DFW/2001-03`. It is unique, because names contain no `/`. */
export function nodeKey(path: NodePath): string {
  return namesOf(path).join('/');
}

/** The node of a key; undefined when the text is no key. */
export function parseNodeKey(key: string): NodePath | undefined {
  const [tenant, store, month] = key.split('/');
  if (!tenant) return undefined;
  return pathOf(tenant, store, month);
}

export function pathOf(tenant: string, store?: string | null, month?: string | null): NodePath {
  if (!store) return { tenant };
  return month ? { tenant, store, month } : { tenant, store };
}

/** The level of a node in the tree. */
export function levelOf(path: NodePath): NodeLevel {
  if (path.month !== undefined) return 'month';
  return path.store === undefined ? 'tenant' : 'store';
}

/** The names of a node and of those above it, from the tenant on. */
export function namesOf(path: NodePath): string[] {
  const { tenant, store, month } = path;
  return [tenant, store, month].filter((name) => name !== undefined);
}
