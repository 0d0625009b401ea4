import type { ListedJob } from '../api/types.ts';
import type { JobKindName } from '../api/values.ts';
import { stringifySearch } from './hash-state.ts';
import { exportHref, panelHref, runHref } from './panel-place.ts';

/** The kinds of jobs as people call them. */
export const jobNames: Readonly<Record<JobKindName, string>> = {
  run: 'retention run',
  verification: 'verification',
  export: 'export',
  retry: 'bulk retry',
  replay: 'replay',
  purge: 'bulk purge',
  version: 'dataset version',
  count: 'count of records',
  import: 'import of files',
};

/** The place of the console that shows all of a job, or what it works on, and the words of a button that leads there. */
export function jobPlace(job: Pick<ListedJob, 'kind' | 'id' | 'tenant'>): {
  text: string;
  href: string;
} {
  const { kind, id } = job;
  switch (kind) {
    case 'run':
      return { text: 'ITS MOVES', href: runHref(id) };
    case 'verification':
      return { text: 'ITS REPORT', href: panelHref('/retention', { kind, id }) };
    case 'export':
      return { text: 'ITS FILE', href: exportHref(id) };
    case 'retry':
    case 'purge':
      return { text: 'WEBHOOK DLQ', href: '#/dlq' };
    case 'replay':
      return { text: 'DELIVERIES', href: `#/deliveries${stringifySearch({ job: id })}` };
    case 'import':
    case 'count':
      return {
        text: job.tenant === null ? 'RECORDS' : 'THE TENANT',
        href: `#/records${stringifySearch({ tenant: job.tenant ?? undefined })}`,
      };
    case 'version': {
      const node = { tenant: job.tenant ?? undefined, view: 'versions' };
      return { text: 'THE VERSION', href: panelHref('/records', { kind, id }, node) };
    }
  }
}
