import { bulkActions, deadLetterStatuses } from '../api/values.ts';
import {
  deadLetterFilters,
  deliveryFilters,
  endpointFilters,
  incidentFilters,
} from '../api/views.ts';
import { type ListSearch, readList } from '../ui/list-search.ts';
import { panelHref } from '../ui/panel-place.ts';

// The view state of the pages about webhooks, as the hash has it.

/** The statuses of the queue in the order of the page: what needs a person comes first. */
export const shownStatuses = [...deadLetterStatuses].reverse();

/** The statuses whose rows are shown: without a chosen one all, and none by a word that is no status. */
export function statusesShown(chosen: string | undefined) {
  return shownStatuses.filter((status) => chosen === undefined || chosen === status);
}

const { tenant, endpoint, class: failed } = deadLetterFilters;

/** What failed may be any text: a newer service knows more of it, and what none knows it refuses. */
const failure = { title: failed.title } as const;

/** The filters of the groups of the queue. */
export const dlqGroupFilters = { tenant, endpoint, failure } as const;

/** The filters of its rows. */
export const dlqFilters = {
  q: {
    title: 'Target, error, id or key',
    label: 'Part of the target or the error, or the beginning of an id or key',
    isUsual: true,
  },
  ...dlqGroupFilters,
} as const;

/** What the hash has of the queue. Only rows of a chosen status are shown; those of the other are still counted. */
export const dlqFields = { ...dlqFilters, status: {} } as const;

/** View state of the page WEBHOOK DLQ. `endpoint` is an id, `q` a search text. */
export type DlqSearch = ListSearch<typeof dlqFields> & { view?: 'groups' };

/** People type `incident.*` or `incident.` for all types that begin so. Lists of types have the one; filters take both. */
export const inList = (type: string) => type.replace(/\.$/, '.*');

/** The panels of WEBHOOK DLQ: a delivery by its id, and what is done to all that the filters find, or to a group. */
export const dlqPanels = ['delivery', ...bulkActions] as const;

/** View state of the page DELIVERIES. `endpoint` and `incident` are ids. */
export type DeliveriesSearch = ListSearch<typeof deliveryFilters>;

/** The panels of DELIVERIES: a delivery, by its id. */
export const deliveriesPanels = ['delivery'] as const;

/** View state of the page INCIDENTS. Each of the days may be given alone. */
export type IncidentsSearch = ListSearch<typeof incidentFilters>;

/** The panels of INCIDENTS: an incident, by its id. */
export const incidentsPanels = ['inc'] as const;

/** The id of the panel for a new endpoint. */
export const newEndpoint = 'new';

/** View state of the page ENDPOINTS. */
export type EndpointsSearch = ListSearch<typeof endpointFilters> & { view?: 'types' };

/** The panels of ENDPOINTS: an endpoint by its id, or a type of events, or `new`. */
export const endpointsPanels = ['endpoint', 'type'] as const;

type Raw = Record<string, unknown>;

/** Reads the view state from a hash. What it cannot understand is dropped, so that an old link still opens. */
export function validateDlqSearch(search: Raw): DlqSearch {
  return {
    ...readList(search, dlqFields, dlqPanels, { delivery: 'delivery' }),
    ...(search.view === 'groups' && { view: 'groups' }),
  };
}

export function validateDeliveriesSearch(search: Raw): DeliveriesSearch {
  return readList(search, deliveryFilters, deliveriesPanels, { delivery: 'delivery' });
}

export function validateEndpointsSearch(search: Raw): EndpointsSearch {
  return {
    ...readList(search, endpointFilters, endpointsPanels, { edit: 'endpoint' }),
    ...(search.view === 'types' && { view: 'types' }),
  };
}

export function validateIncidentsSearch(search: Raw): IncidentsSearch {
  return readList(search, incidentFilters, incidentsPanels);
}

/** A link to one incident. */
export function incidentHref(id: string): string {
  return panelHref('/incidents', { kind: 'inc', id });
}

/** A link to one delivery. It works whatever becomes of the delivery. */
export function deliveryHref(id: string, endpoint?: string): string {
  return panelHref('/deliveries', { kind: 'delivery', id }, { endpoint });
}
