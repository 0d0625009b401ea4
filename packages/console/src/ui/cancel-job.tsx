import { Button } from '@mantine/core';
import { createContext, type ReactNode, use, useMemo, useState } from 'react';
import { api } from '../api/client.ts';
import type { JobKindName } from '../api/values.ts';
import { useAct } from './act.ts';
import { ConfirmDialog } from './confirm-dialog.tsx';
import { jobNames } from './job-kinds.ts';
import { notify } from './toasts.tsx';

/** What becomes of a job that is cancelled, for the kinds that can be. The others go on to their end. */
const afterCancel: Readonly<Partial<Record<JobKindName, string>>> = {
  export: 'Nothing of its file is kept.',
  count: 'What it has found so far is kept.',
  import: 'What it has stored stays. Its command stops.',
  retry: 'What it has queued is sent; the rest stays as it is.',
  replay: 'What it has queued is sent, the rest is not.',
};

/** A job to cancel. `name` is what people know it by, unless that is its id. */
type Cancelled = { id: string; kind: JobKindName; name?: string; summary?: string };

const CancelContext = createContext<{ ask: (job: Cancelled) => void; busyId?: string | undefined }>(
  {
    ask: () => {
      throw new Error('A CANCEL button stands in no CancelQuestion.');
    },
  },
);

/**
 * Asks the question of the CANCEL buttons that stand in it, and cancels. The button goes when its job ends, and so may
 * the row; the question stays until it is answered, so that the answer does not land on what lies beneath.
 */
export function CancelQuestion({ children }: { children: ReactNode }): ReactNode {
  const [asked, ask] = useState<Cancelled | null>(null);
  const cancel = useAct({
    call: ({ id }: Cancelled) =>
      api.post<unknown>(`/jobs/${encodeURIComponent(id)}/cancel`, undefined),
    onDone: (_answer, { id, name = id }) => notify({ text: `Cancelled ${name}` }),
    failed: ({ id, name = id }) => `Not cancelled: ${name}`,
    // The page of its kind shows the job, too.
    changes: (client) => client.invalidateQueries(),
  });
  const busyId = cancel.isPending ? cancel.variables.id : undefined;
  const value = useMemo(() => ({ ask, busyId }), [busyId]);
  return (
    <CancelContext value={value}>
      {children}
      {asked !== null && (
        <ConfirmDialog
          title={`Cancel this ${jobNames[asked.kind]}?`}
          answer="Cancel it"
          onYes={() => cancel.mutate(asked)}
          onClose={() => ask(null)}
        >
          <p>{[asked.summary, afterCancel[asked.kind]].filter(Boolean).join(' ')}</p>
        </ConfirmDialog>
      )}
    </CancelContext>
  );
}

/** CANCEL for a job that has not ended, of a kind that can be cancelled. A `CancelQuestion` around it asks first. */
export function CancelJob(props: {
  job: Cancelled;
  tabIndex?: number;
  isSmall?: boolean;
}): ReactNode {
  const { tabIndex, isSmall = false, job } = props;
  const { ask, busyId } = use(CancelContext);
  if (afterCancel[job.kind] === undefined) return null;
  return (
    <Button
      className="danger"
      {...(isSmall && { size: 'compact-xs' })}
      tabIndex={tabIndex}
      loading={busyId === job.id}
      onClick={() => ask(job)}
    >
      CANCEL…<span className="visually-hidden"> {job.name ?? job.id}</span>
    </Button>
  );
}
