/** The beginning of the query keys of everything about webhooks. */
export const webhooksKey = ['webhooks'] as const;
export const dlqKey = [...webhooksKey, 'dlq'] as const;
export const deliveriesKey = [...webhooksKey, 'deliveries'] as const;
export const incidentsKey = [...webhooksKey, 'incidents'] as const;
export const endpointsKey = [...webhooksKey, 'endpoints'] as const;
export const eventTypesKey = [...webhooksKey, 'types'] as const;
export const jobsKey = [...webhooksKey, 'jobs'] as const;

/** The path of one endpoint in the API. */
export function endpointPath(id: string): string {
  return `/webhook/endpoints/${encodeURIComponent(id)}`;
}

/** The query key of the newest failures of one status that match the filters. */
export function deadLettersKey(filters: { status: string; [name: string]: string | undefined }) {
  return [...dlqKey, 'rows', filters] as const;
}
