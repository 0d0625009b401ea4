import { dayFilters, tenantFilter } from '../kernel/view.ts';
import { deadLetterStatuses, deliveryStatuses, endpointHealths, failureClasses } from './values.ts';

export const endpointFilters = {
  tenant: tenantFilter,
  health: { choices: endpointHealths, help: 'only those that fare so' },
  text: {
    ...{ param: 'q', help: 'only with this text in the URL or the description' },
    label: 'Text in the URL or the description',
  },
} as const;

/** To whom deliveries go. */
export const reachFilters = {
  tenant: tenantFilter,
  endpoint: { param: 'endpoint_id', within: 'tenant', value: 'id', help: 'only to this endpoint' },
} as const;

export const deadLetterFilters = {
  status: { choices: deadLetterStatuses, help: 'pending or abandoned (required)' },
  ...reachFilters,
  class: { param: 'failure_class', choices: failureClasses, help: 'only what failed so' },
} as const;

export const deliveryFilters = {
  status: { choices: deliveryStatuses, help: 'only in this state' },
  ...reachFilters,
  incident: {
    ...{ param: 'incident_id', value: 'id', help: 'only of this incident' },
    label: 'Id of the incident',
  },
} as const;

/** The days are those of the reports. */
export const incidentFilters = {
  tenant: tenantFilter,
  store: { help: 'only of this store' },
  type: {
    help: 'only of this type, or with a dot at its end of all that begin so',
    label: 'Type, exactly, or how types begin, as incident.',
  },
  ...dayFilters('only reported from this day on, as 2026-03-05 (UTC)'),
  deliveries: { choices: ['failed'] },
} as const;
