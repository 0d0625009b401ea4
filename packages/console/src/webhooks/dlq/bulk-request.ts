import type { BulkJob, BulkRequest } from '../../api/types.ts';
import type { DlqSearch } from '../search.ts';
import type { DeadLetterGroup } from './groups-table.tsx';

/** A group as the id of its retry or its purge. */
export function groupText({ status, endpoint_id, failure_class }: DeadLetterGroup): string {
  return [status, endpoint_id, failure_class].join('/');
}

/**
 * The bulk job that a panel asks for: of the group that its id names, or without an id of all that the filters find.
 * The service refuses a word that it does not know. Nothing is left out here, because what is missing means any.
 */
export function requestOf(search: DlqSearch, panelId: string): BulkRequest {
  const { status, tenant, endpoint, failure } =
    panelId === '' ? search : { ...groupOf(panelId), tenant: search.tenant };
  const asked = { status, tenant, endpoint_id: endpoint, failure_class: failure };
  return Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== undefined));
}

/** Reads what `groupText` wrote. Of an id that was cut short the rest is '', which the service refuses. */
function groupOf(text: string): { status: string; endpoint: string; failure: string } {
  const [status = '', endpoint = '', ...rest] = text.split('/');
  return { status, endpoint, failure: rest.join('/') };
}

const compared = ['status', 'tenant', 'endpoint_id', 'failure_class'] as const;

/** Whether a job of others may do something to the deliveries that a request asks for. What is missing means any. */
export function overlaps(
  job: Pick<BulkJob, (typeof compared)[number] | 'event_type'>,
  request: BulkRequest,
): boolean {
  const beginning = (type: string | null | undefined) => type?.replace(/\*$/, '') ?? '';
  const [own, asked] = [beginning(job.event_type), beginning(request.event_type)];
  return (
    compared.every((name) => {
      const [of, wanted] = [job[name], request[name]];
      return of === null || wanted === undefined || of === wanted;
    }) &&
    (own.startsWith(asked) || asked.startsWith(own))
  );
}
