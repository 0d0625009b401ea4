import { type UseQueryResult, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useEffectEvent, useRef, useState } from 'react';
import type { Page, RetentionRun, Verification } from '../api/types.ts';
import type { RetentionJobState } from '../api/values.ts';
import { formatAge, formatBytes, formatCount } from '../ui/format.ts';
import { JobLine, JobStrip } from '../ui/job-line.tsx';
import { runHref } from '../ui/panel-place.ts';
import { useRead } from '../ui/poll.tsx';
import { notify, type Toast } from '../ui/toasts.tsx';
import { countOf } from '../ui/words.ts';
import { followMillis, isAtWork, retentionKey } from './calls.ts';
import { retentionHref } from './search.ts';

const mostListed = 3;

type Job = { readonly id: string; readonly state: RetentionJobState };

/** Jobs of one kind as this page follows them. `follow` shows one just started, `dismiss` removes its line. */
export type Jobs<J extends Job> = {
  /** The latest jobs, whoever started them. */
  readonly list: UseQueryResult<Page<J>>;
  /** The job that runs, or the last that ended while this page was open. */
  readonly shown: J | undefined;
  readonly follow: (job: J) => void;
  readonly dismiss: () => void;
};

/** Reads the runs. The running one is read every second, and a message tells when it ends. */
export function useRuns(): Jobs<RetentionRun> {
  return useJobs<RetentionRun>({ name: 'runs', path: '/retention/runs', toastOf: toastOfRun });
}

/** Reads the verifications, in the same way. */
export function useVerifications(): Jobs<Verification> {
  return useJobs<Verification>({
    name: 'verifications',
    path: '/retention/verify',
    toastOf: toastOfVerification,
  });
}

type JobsOptions<J extends Job> = { name: string; path: string; toastOf: (job: J) => Toast };

/** Follows jobs of one kind: reads the list, reads the running one more often, and shows a message when it ends. */
function useJobs<J extends Job>({ name, path, toastOf }: JobsOptions<J>): Jobs<J> {
  const client = useQueryClient();
  const [id, setId] = useState<string | null>(null);
  const params = { limit: mostListed };
  const list = useRead<Page<J>>([...retentionKey, name], path, { params });
  const { data: shown } = useRead<J>(
    [...retentionKey, name, id],
    `${path}/${encodeURIComponent(id ?? '')}`,
    { isWanted: id !== null, isOne: true, follow: [isAtWork, followMillis] },
  );
  // Jobs are worked on in order, so the oldest open one is the one that runs.
  const next = list.data?.data.findLast(isAtWork)?.id;
  const isFree = id === null || (shown !== undefined && !isAtWork(shown));
  if (next !== undefined && isFree && next !== id) setId(next);
  const told = useRef<string | null>(null);
  const tell = useEffectEvent((job: J) => notify(toastOf(job)));
  useEffect(() => {
    if (shown === undefined || isAtWork(shown) || told.current === shown.id) return;
    told.current = shown.id;
    tell(shown);
    void client.invalidateQueries({ queryKey: retentionKey });
  }, [shown, client]);
  return {
    list,
    shown,
    follow: (job) => {
      client.setQueryData<J>([...retentionKey, name, job.id], job);
      setId(job.id);
      void client.invalidateQueries({ queryKey: [...retentionKey, name], exact: true });
    },
    dismiss: () => setId(null),
  };
}

function toastOfRun(run: RetentionRun): Toast {
  const href = runHref(run.id);
  const linkText = 'see its moves';
  if (run.state === 'failed' || run.failed_moves > 0) {
    const failed = run.failed_moves > 0 ? countOf(run.failed_moves, 'move') : 'the run';
    return { text: `Retention run ended, ${failed} failed. Their source is kept.`, href, linkText };
  }
  return { text: `Retention run ended: ${doneText(run)}.`, href, linkText };
}

/** What a run did: `41,877 records moved, 120 deleted, 30 kept by dataset versions`. */
function doneText(run: RetentionRun): string {
  const parts = [`${countOf(run.moved_count, 'record')} moved`];
  if (run.deleted_count > 0) parts.push(`${run.deleted_count.toLocaleString('en-US')} deleted`);
  if (run.kept_count > 0) {
    parts.push(`${run.kept_count.toLocaleString('en-US')} kept by dataset versions`);
  }
  return parts.join(', ');
}

function toastOfVerification(verification: Verification): Toast {
  const href = retentionHref('verification', verification.id);
  return { text: `Verification: ${outcomeText(verification)}.`, href, linkText: 'see it' };
}

/** How a verification ended, or how far it is, as a sentence. */
export function outcomeText(verification: Verification): string {
  const { state, ok, problem_count: problems, segments_total: segments } = verification;
  if (state === 'queued') return 'waits for its turn';
  if (state === 'running') return 'under way';
  if (state === 'waiting') return waitingText(verification);
  if (state === 'failed') return 'could not be finished';
  if (ok !== true) return `${countOf(problems, 'problem')} found`;
  if (verification.since !== null || verification.sample_percent !== null) {
    return `${countOf(segments ?? 0, 'segment')} read, and nothing differs`;
  }
  if (segments === 0) return 'nothing is cold yet, and the counters say so';
  return segments === 1
    ? 'the only segment equals its counters'
    : `all ${(segments ?? 0).toLocaleString('en-US')} segments equal their counters`;
}

/** One line each for a run and a verification that runs or has just ended: how far it is. */
export function JobLines(props: {
  runs: Jobs<RetentionRun>;
  verifications: Jobs<Verification>;
}): ReactNode {
  const { runs, verifications } = props;
  const [run, verification] = [runs.shown, verifications.shown];
  if (run === undefined && verification === undefined) return null;
  return (
    <JobStrip label="Work under way">
      {run !== undefined && <RunLine run={run} onDismiss={runs.dismiss} />}
      {verification !== undefined && (
        <VerificationLine verification={verification} onDismiss={verifications.dismiss} />
      )}
    </JobStrip>
  );
}

function RunLine({ run, onDismiss }: { run: RetentionRun; onDismiss: () => void }): ReactNode {
  const done = run.moved_count + run.deleted_count;
  const total = Math.max(run.total_count ?? 0, done);
  return (
    <JobLine
      state={run.state}
      isOpen={isAtWork(run)}
      value={done}
      max={total}
      onDismiss={onDismiss}
      what={`Run: ${scopeText(run)}`}
      label="Progress of the run"
      count={runText(run, total)}
      actions={<a href={runHref(run.id)}>its moves</a>}
    />
  );
}

/** What a run is about, and who asked for it. */
function scopeText({ tenant, before, requested_by }: RetentionRun): string {
  const parts = [
    tenant === null ? 'all tenants' : `tenant ${tenant}`,
    before === null ? '' : `days before ${before}`,
    requested_by === null ? 'by the schedule' : `by ${requested_by}`,
  ];
  return parts.filter((part) => part !== '').join(' · ');
}

/** What a job waits for, and since when. It goes on by itself. */
function waitingText(job: Pick<RetentionRun, 'waiting_since' | 'waiting_for'>): string {
  const since =
    job.waiting_since === null
      ? ''
      : ` for ${formatAge(Date.now() - Date.parse(job.waiting_since))}`;
  return `waits for its store${since}: ${job.waiting_for ?? ''}`;
}

/** How far a run is, or what it did, with everything that went wrong. */
function runText(run: RetentionRun, total: number): string {
  if (run.state === 'queued') return 'waits for its turn';
  const parts = [
    isAtWork(run)
      ? `${formatCount(run.moved_count + run.deleted_count)} of ${countOf(total, 'record')}`
      : doneText(run),
    run.failed_moves > 0 ? `${countOf(run.failed_moves, 'move')} failed` : '',
    run.busy_tenants > 0 ? `${countOf(run.busy_tenants, 'busy tenant')} passed over` : '',
    run.state === 'waiting' ? waitingText(run) : '',
    run.error ?? '',
  ];
  return parts.filter((part) => part !== '').join(' · ');
}

function VerificationLine(props: { verification: Verification; onDismiss: () => void }): ReactNode {
  const { verification } = props;
  const { state, tenant, requested_by: by, bytes_done, bytes_total } = verification;
  return (
    <JobLine
      state={state}
      isOpen={isAtWork(verification)}
      value={bytes_done}
      max={bytes_total ?? 0}
      onDismiss={props.onDismiss}
      what={`Verification: ${tenant === null ? 'all tenants' : `tenant ${tenant}`}${by === null ? '' : ` · by ${by}`}`}
      label="Progress of the verification"
      count={progressText(verification)}
      actions={<a href={retentionHref('verification', verification.id)}>its report</a>}
    />
  );
}

/** How far a verification is: `12 of 24 segments · 18 MB of 36 MB`. */
export function progressText(verification: Verification): string {
  const { segments_done, segments_total, bytes_done, bytes_total } = verification;
  if (verification.state !== 'running') return outcomeText(verification);
  if (segments_total === null) return 'counts what there is to read';
  const bytes = `${formatBytes(bytes_done)} of ${formatBytes(bytes_total ?? 0)}`;
  return `${formatCount(segments_done)} of ${countOf(segments_total, 'segment')} · ${bytes}`;
}
