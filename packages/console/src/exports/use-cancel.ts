import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { useCallback, useMemo, useState } from 'react';
import type { Page } from '../api/types.ts';
import { notify, type Toast } from '../ui/toasts.tsx';
import { reasonOf } from '../webhooks/delivery/use-retries.ts';
import { cancelExport, exportsKey } from './calls.ts';
import { exportHref } from './search.ts';
import type { ExportJob } from './types.ts';

export type Cancelling = {
  /** On their way. */
  readonly ids: ReadonlySet<string>;
  readonly cancel: (job: ExportJob) => void;
};

/** Cancels jobs without a question, and tells how that went. */
export function useCancel(): Cancelling {
  const client = useQueryClient();
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const cancel = useCallback(
    (job: ExportJob) => {
      setIds((before) => new Set([...before, job.id]));
      void cancelExport(job.id)
        .then(
          (answer) => {
            show(client, answer);
            notify(toastOf(answer));
          },
          (error: Error) => notify({ text: `Not cancelled: ${job.file_name}. ${reasonOf(error)}` }),
        )
        .then(() => client.invalidateQueries({ queryKey: exportsKey }))
        .finally(() => setIds((before) => new Set([...before].filter((id) => id !== job.id))));
    },
    [client],
  );
  return useMemo(() => ({ ids, cancel }), [ids, cancel]);
}

/** In the lists and the drawer at once: the next answers of the service come a moment later. */
function show(client: QueryClient, job: ExportJob): void {
  client.setQueryData<ExportJob>([...exportsKey, 'one', job.id], job);
  client.setQueriesData<Page<ExportJob>>({ queryKey: [...exportsKey, 'list'] }, (list) =>
    list === undefined
      ? undefined
      : { ...list, data: list.data.map((each) => (each.id === job.id ? job : each)) },
  );
}

function toastOf({ id, state, file_name: name }: ExportJob): Toast {
  if (state === 'completed') {
    const href = exportHref(id);
    return { text: `${name} was finished already; it is kept.`, href, linkText: 'see it' };
  }
  if (state === 'erased') return { text: `${name} has no file any more: it was erased.` };
  return { text: state === 'failed' ? `${name} had failed already.` : `Cancelled ${name}` };
}
