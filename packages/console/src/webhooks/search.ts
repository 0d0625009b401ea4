import {
  type DeadLetterStatus,
  type DeliveryStatus,
  deadLetterStatuses,
  deliveryStatuses,
  type FailureClass,
} from '../api/values.ts';
import { textOf, withoutUndefined } from '../ui/hash-state.ts';

// All view state of the pages of webhooks, as it stands in the hash.

/** As the pages show them: what needs a person comes first. */
export const shownStatuses = [...deadLetterStatuses].reverse();

export type DlqSearch = {
  /** Only this status is shown; both are still counted. */
  status?: DeadLetterStatus;
  tenant?: string;
  endpoint?: string;
  failure?: FailureClass;
  q?: string;
  view?: 'groups';
  /** Id of the delivery in the drawer. */
  delivery?: string;
};

export type DeliveriesSearch = {
  status?: DeliveryStatus;
  tenant?: string;
  endpoint?: string;
  incident?: string;
  cursor?: string;
  delivery?: string;
};

/** The value of `edit` for an endpoint that is to be made. */
export const newEndpoint = 'new';

export type EndpointsSearch = {
  tenant?: string;
  cursor?: string;
  /** Id of the endpoint in the drawer, or `new`. */
  edit?: string;
};

type Raw = Record<string, unknown>;

/** What of a hash can be understood; the rest is dropped, so that an old link still opens. */
export function validateDlqSearch(search: Raw): DlqSearch {
  const failure = textOf(search.failure);
  return withoutUndefined({
    status: deadLetterStatuses.find((status) => status === search.status),
    tenant: textOf(search.tenant),
    endpoint: textOf(search.endpoint),
    // A closed set of the service, which knows it better: a wrong one is refused there.
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

/** The place that shows one delivery, whatever becomes of it. */
export function deliveryHref(id: string, endpoint?: string): string {
  const filter = endpoint === undefined ? '' : `endpoint=${encodeURIComponent(endpoint)}&`;
  return `#/deliveries?${filter}delivery=${encodeURIComponent(id)}`;
}
