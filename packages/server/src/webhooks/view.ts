import { tenantFilter, timeFilters } from '../kernel/view.ts';
import {
  deadLetterStatuses,
  deliveryStatuses,
  endpointHealths,
  failureClasses,
  shownOutcomes,
} from './values.ts';

export const endpointFilters = {
  tenant: tenantFilter,
  health: { choices: endpointHealths, help: 'only those that fare so', isUsual: true },
  text: {
    param: 'q',
    isUsual: true,
    help: 'only with this text in the URL, the name, the uid or the description',
    title: 'URL, name or uid',
    label: 'Text in the URL, the name, the uid or the description',
  },
  order: {
    choices: ['health'],
    help: 'health: those first that need somebody, instead of by tenant',
    // The console has no other order.
    isLinked: true,
  },
} as const;

const reachFilters = {
  tenant: tenantFilter,
  endpoint: { param: 'endpoint_id', within: 'tenant', value: 'id', help: 'only to this endpoint' },
} as const;

export const deadLetterFilters = {
  status: { choices: deadLetterStatuses, help: 'pending or abandoned (required)' },
  ...reachFilters,
  class: {
    param: 'failure_class',
    title: 'Failure',
    choices: failureClasses,
    help: 'only what failed so',
  },
} as const;

/** What lists of deliveries and of incidents are searched for. */
const searchFilters = {
  type: {
    help: 'only of this type, or as "incident.*" of all that begin so',
    label: 'Type, exactly, or how types begin, as incident.*',
  },
  class: {
    param: 'failure_class',
    title: 'Failure',
    choices: failureClasses,
    help: 'only what failed so',
  },
  code: {
    param: 'last_status',
    value: 'status',
    help: 'only with this last status of HTTP, as 503 or 5xx',
    title: 'HTTP status',
    label: 'Last status of HTTP, as 503 or 5xx',
  },
  id: {
    help: 'of a delivery, an incident, an endpoint or a request, a webhook-id, or an idempotency key',
    title: 'Id or key',
    label: 'Id of delivery, incident, endpoint or request, webhook-id or idempotency key',
  },
  text: {
    isUsual: true,
    help: 'only with this text in the payload or in an answer, in any case',
    title: 'Payload or answer',
    label: 'Text in the payload or in an answer',
  },
  ...timeFilters(
    'only reported from this day or time on, as 2026-03-05 or 2026-03-05T14:00:00Z (UTC), or a span ago as 2h',
  ),
} as const;

/** What is done in bulk may leave out both statuses. */
export const bulkFilters = {
  ...deadLetterFilters,
  status: {
    ...deadLetterFilters.status,
    help: 'with --all: only pending or only abandoned ones (default: both)',
  },
  type: { param: 'event_type', value: 'type', help: searchFilters.type.help },
} as const;

export const deliveryFilters = {
  status: { choices: deliveryStatuses, help: 'only in this state', isUsual: true },
  ...reachFilters,
  incident: {
    param: 'incident_id',
    value: 'id',
    help: 'only of this incident',
    // An id of any kind is asked for by the field `id`.
    isLinked: true,
  },
  ...searchFilters,
  job: {
    param: 'job_id',
    value: 'id',
    help: 'only what this bulk retry, purge or replay has done',
    isLinked: true,
  },
  outcome: {
    choices: shownOutcomes,
    within: 'job',
    help: 'with --job: only what has become so since',
    isLinked: true,
  },
} as const;

/** The days are those of the reports. */
export const incidentFilters = {
  tenant: tenantFilter,
  store: { help: 'only of this store' },
  deliveries: { choices: ['failed'], isUsual: true },
  status: {
    param: 'delivery_status',
    choices: deliveryStatuses,
    help: 'only those of which a delivery is in this state',
  },
  endpoint: reachFilters.endpoint,
  ...searchFilters,
} as const;
