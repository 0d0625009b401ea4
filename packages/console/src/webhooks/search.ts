import {
  type DeadLetterStatus,
  type DeliveryStatus,
  deadLetterStatuses,
  deliveryStatuses,
  type FailureClass,
} from '../api/values.ts';
import { textOf, withoutUndefined } from '../ui/hash-state.ts';

// The view state of the pages about webhooks, as the hash has it.

/** The statuses of the queue in the order of the page: what needs a person comes first. */
export const shownStatuses = [...deadLetterStatuses].reverse();

/** View state of the page WEBHOOK DLQ. `endpoint` is an id, `q` a search text. */
export type DlqSearch = {
  /** Filter: only rows of this status are shown. Both statuses are still counted. */
  status?: DeadLetterStatus;
  tenant?: string;
  endpoint?: string;
  failure?: FailureClass;
  q?: string;
  view?: 'groups';
  /** Id of the delivery that the drawer shows. */
  delivery?: string;
};

/** View state of the page DELIVERIES. `endpoint` and `incident` are ids. */
export type DeliveriesSearch = {
  status?: DeliveryStatus;
  tenant?: string;
  endpoint?: string;
  incident?: string;
  cursor?: string;
  delivery?: string;
};

/** The value of `edit` for a new endpoint. */
export const newEndpoint = 'new';

/** View state of the page ENDPOINTS. */
export type EndpointsSearch = {
  tenant?: string;
  cursor?: string;
  /** Id of the endpoint that the drawer shows, or `new`. */
  edit?: string;
};

type Raw = Record<string, unknown>;

/** Reads the view state from a hash. What it cannot understand is dropped, so that an old link still opens. */
export function validateDlqSearch(search: Raw): DlqSearch {
  const failure = textOf(search.failure);
  return withoutUndefined({
    status: deadLetterStatuses.find((status) => status === search.status),
    tenant: textOf(search.tenant),
    endpoint: textOf(search.endpoint),
    // Failure classes are not checked here: the service refuses a wrong one.
    failure: failure as FailureClass | undefined,
    q: textOf(search.q),
    view: search.view === 'groups' ? 'groups' : undefined,
    delivery: textOf(search.delivery),
  });
}

export function validateDeliveriesSearch(search: Raw): DeliveriesSearch {
  return withoutUndefined({
    status: deliveryStatuses.find((status) => status === search.status),
    tenant: textOf(search.tenant),
    endpoint: textOf(search.endpoint),
    incident: textOf(search.incident),
    cursor: textOf(search.cursor),
    delivery: textOf(search.delivery),
  });
}

export function validateEndpointsSearch(search: Raw): EndpointsSearch {
  return withoutUndefined({
    tenant: textOf(search.tenant),
    cursor: textOf(search.cursor),
    edit: textOf(search.edit),
  });
}

/** A link to one delivery. It works whatever becomes of the delivery. */
export function deliveryHref(id: string, endpoint?: string): string {
  const filter = endpoint === undefined ? '' : `endpoint=${encodeURIComponent(endpoint)}&`;
  return `#/deliveries?${filter}delivery=${encodeURIComponent(id)}`;
}
