import type { ReactNode } from 'react';
import { api } from '../api/client.ts';
import type { JobKindName } from '../api/values.ts';
import { useAct } from './act.ts';
import { AskButton } from './confirm-dialog.tsx';
import { jobNames } from './job-kinds.ts';
import { notify } from './toasts.tsx';

/** What becomes of a job that is cancelled, for the kinds that can be. The others go on to their end. */
const afterCancel: Readonly<Partial<Record<JobKindName, string>>> = {
  export: 'Nothing of its file is kept.',
  retry: 'What it has queued is sent; the rest stays as it is.',
  replay: 'What it has queued is sent, the rest is not.',
};

/** CANCEL for a job that has not ended, of a kind that can be cancelled. It asks first. */
export function CancelJob(props: {
  /** `name` is what people know it by, unless that is its id. */
  job: { id: string; kind: JobKindName; name?: string; summary?: string };
  tabIndex?: number;
  isSmall?: boolean;
}): ReactNode {
  const { tabIndex, isSmall = false } = props;
  const { id, kind, name = id, summary } = props.job;
  const cancel = useAct({
    call: () => api.post<unknown>(`/jobs/${encodeURIComponent(id)}/cancel`, undefined),
    onDone: () => notify({ text: `Cancelled ${name}` }),
    failed: `Not cancelled: ${name}`,
    // The page of its kind shows the job, too.
    changes: (client) => client.invalidateQueries(),
  });
  const after = afterCancel[kind];
  if (after === undefined) return null;
  return (
    <AskButton
      text="CANCEL…"
      about={name}
      tabIndex={tabIndex}
      isSmall={isSmall}
      isBusy={cancel.isPending}
      title={`Cancel this ${jobNames[kind]}?`}
      answer="Cancel it"
      onYes={() => cancel.mutate()}
    >
      {summary === undefined ? after : `${summary} ${after}`}
    </AskButton>
  );
}
