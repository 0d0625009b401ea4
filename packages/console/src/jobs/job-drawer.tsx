import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import type { ListedJob } from '../api/types.ts';
import { CancelJob, CancelQuestion } from '../ui/cancel-job.tsx';
import { CliBlock } from '../ui/copy-button.tsx';
import { Drawer } from '../ui/drawer.tsx';
import { copied, Facts } from '../ui/facts.tsx';
import { WarningIcon } from '../ui/icons.tsx';
import { jobNames, jobPlace } from '../ui/job-kinds.ts';
import { JobMark } from '../ui/job-line.tsx';
import { At } from '../ui/marks.tsx';
import { useRead } from '../ui/poll.tsx';
import { useSession } from '../ui/session.ts';
import { shellLine } from '../ui/words.ts';
import { PauseButton, ReplayFacts } from './replay-part.tsx';
import {
  followMillis,
  isMoving,
  isOpen,
  percentText,
  progressText,
  shownState,
  stateWords,
} from './words.ts';

/** The drawer of a job of any kind: what it does, how far it is, why it failed, and who asked for it. */
export function JobDrawer({ id, onClose }: { id: string; onClose: () => void }): ReactNode {
  const job = useRead<ListedJob>(['jobs', 'one', id], `/jobs/${encodeURIComponent(id)}`, {
    isOne: true,
    follow: [isMoving, followMillis],
  });
  const kind = job.data === undefined ? 'JOB' : jobNames[job.data.kind].toUpperCase();
  return (
    <CancelQuestion>
      <Drawer
        kind={kind}
        title={id}
        id={id}
        onClose={onClose}
        noun="job"
        query={job}
        rows={10}
        actions={(data) => <Actions job={data} />}
      >
        {(data) => (
          <>
            <Standing job={data} />
            {data.kind === 'replay' && <ReplayFacts job={data} />}
            <JobFacts job={data} />
            <CliBlock
              title="The same on the command line"
              line={shellLine(['svcctl', 'jobs', isOpen(data) ? 'wait' : 'show', id])}
            />
          </>
        )}
      </Drawer>
    </CancelQuestion>
  );
}

/** The way to the job's own place, and CANCEL for whoever may while it has not ended. It asks first. */
function Actions({ job }: { job: ListedJob }): ReactNode {
  const { actor, hasScope } = useSession();
  const { text, href } = jobPlace(job);
  const isAllowed = hasScope('admin') || job.requested_by === actor.name;
  return (
    <div className="drawer-actions">
      <Button component="a" href={href}>
        {text}
      </Button>
      {isAllowed && <PauseButton job={job} />}
      {isAllowed && isOpen(job) && <CancelJob job={job} />}
    </div>
  );
}

/** The state of a job, what it does, how far it is, and why it failed or for what it waits. */
function Standing({ job }: { job: ListedJob }): ReactNode {
  const { progress, error } = job;
  const state = shownState(job);
  const percent = percentText(job);
  return (
    <>
      <p role="status" className="below-8">
        <JobMark state={state} title={stateWords[state]} /> · {stateWords[state]}
      </p>
      <p className="below-12 break">{job.summary}</p>
      <div className="below-16">
        <p className="flex baseline gap-12 below-4">
          {percent !== null && <strong className="large">{percent}</strong>}
          {progressText(job)}
        </p>
        {percent !== null && isOpen(job) && (
          <progress
            value={progress?.done}
            max={progress?.total ?? undefined}
            aria-label="Progress of the job"
          />
        )}
      </div>
      {error !== null && (
        <div
          className={`below-16 ${state === 'failed' ? 'note-box alarm' : 'warning'}`}
          role="alert"
        >
          <WarningIcon />
          <p>{error}</p>
        </div>
      )}
    </>
  );
}

function JobFacts({ job }: { job: ListedJob }): ReactNode {
  return (
    <Facts
      facts={{
        tenant: job.tenant ?? 'none in particular',
        'asked for by': job.requested_by ?? 'the schedule',
        asked: <At at={job.requested_at} />,
        started: <At at={job.started_at} />,
        ended: <At at={job.finished_at} />,
        id: copied(job.id),
      }}
    />
  );
}
