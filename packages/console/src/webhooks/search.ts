import type { DeadLetterStatus, DeliveryStatus, FailureClass } from '../api/types.ts';

// All view state of the pages of webhooks, as it stands in the hash.

export const deadLetterStatuses = ['abandoned', 'pending'] as const satisfies DeadLetterStatus[];

export const deliveryStatuses = [
  'queued',
  'pending',
  'abandoned',
  'delivered',
  'discarded',
] as const satisfies DeliveryStatus[];

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
  const failure = text(search.failure);
  return withoutUndefined({
    status: deadLetterStatuses.find((status) => status === search.status),
    tenant: text(search.tenant),
    endpoint: text(search.endpoint),
    // A closed set of the service, which knows it better: a wrong one is refused there.
    failure: failure as FailureClass | undefined,
    q: text(search.q),
    view: search.view === 'groups' ? 'groups' : undefined,
    delivery: text(search.delivery),
  });
}

export function validateDeliveriesSearch(search: Raw): DeliveriesSearch {
  return withoutUndefined({
    status: deliveryStatuses.find((status) => status === search.status),
    tenant: text(search.tenant),
    endpoint: text(search.endpoint),
    incident: text(search.incident),
    cursor: text(search.cursor),
    delivery: text(search.delivery),
  });
}

export function validateEndpointsSearch(search: Raw): EndpointsSearch {
  return withoutUndefined({
    tenant: text(search.tenant),
    cursor: text(search.cursor),
    edit: text(search.edit),
  });
}

/** The place that shows one delivery, whatever becomes of it. */
export function deliveryHref(id: string, endpoint?: string): string {
  const filter = endpoint === undefined ? '' : `endpoint=${encodeURIComponent(endpoint)}&`;
  return `#/deliveries?${filter}delivery=${encodeURIComponent(id)}`;
}

function text(value: unknown): string | undefined {
  const string = typeof value === 'number' ? String(value) : value;
  return typeof string === 'string' && string !== '' ? string : undefined;
}

function withoutUndefined<T extends object>(
  fields: T,
): {
  [Key in keyof T]?: Exclude<T[Key], undefined>;
} {
  const set = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(set) as { [Key in keyof T]?: Exclude<T[Key], undefined> };
}
