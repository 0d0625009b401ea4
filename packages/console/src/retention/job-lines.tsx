import { ActionIcon } from '@mantine/core';
import type { ReactNode } from 'react';
import type { RetentionRun, Verification } from '../api/types.ts';
import { formatBytes, formatCount } from '../ui/format.ts';
import { CloseIcon } from '../ui/icons.tsx';
import classes from '../ui/jobs.module.css';
import { countOf } from '../ui/words.ts';
import { doneText, isAtWork, type Jobs, outcomeText } from './jobs.ts';
import { drawerHref } from './search.ts';

/** One line for the run, one for the verification at work or just ended: how far it is. */
export function JobLines(props: {
  runs: Jobs<RetentionRun>;
  verifications: Jobs<Verification>;
}): ReactNode {
  const { runs, verifications } = props;
  const [run, verification] = [runs.shown, verifications.shown];
  if (run === undefined && verification === undefined) return null;
  return (
    <section className={classes.strip} aria-label="Work under way">
      {run !== undefined && <RunLine run={run} onDismiss={runs.dismiss} />}
      {verification !== undefined && (
        <VerificationLine verification={verification} onDismiss={verifications.dismiss} />
      )}
    </section>
  );
}

function RunLine({ run, onDismiss }: { run: RetentionRun; onDismiss: () => void }): ReactNode {
  const done = run.moved_count + run.deleted_count;
  const total = Math.max(run.total_count ?? 0, done);
  return (
    <Line
      state={run.state}
      what={`Run: ${scopeText(run)}`}
      label="Progress of the run"
      value={done}
      max={total}
      count={runText(run, total)}
      link={{
        href: `#/retention?view=journal&run=${encodeURIComponent(run.id)}`,
        text: 'its moves',
      }}
      onDismiss={onDismiss}
    />
  );
}

function scopeText({ tenant, before, requested_by }: RetentionRun): string {
  const parts = [
    tenant === null ? 'all tenants' : `tenant ${tenant}`,
    before === null ? '' : `days before ${before}`,
    requested_by === null ? 'by the schedule' : `by ${requested_by}`,
  ];
  return parts.filter((part) => part !== '').join(' · ');
}

function runText(run: RetentionRun, total: number): string {
  if (run.state === 'queued') return 'waits for its turn';
  const parts = [
    isAtWork(run)
      ? `${formatCount(run.moved_count + run.deleted_count)} of ${countOf(total, 'record')}`
      : doneText(run),
    run.failed_moves > 0 ? `${countOf(run.failed_moves, 'move')} failed` : '',
    run.busy_tenants > 0 ? `${countOf(run.busy_tenants, 'busy tenant')} passed over` : '',
    run.error ?? '',
  ];
  return parts.filter((part) => part !== '').join(' · ');
}

function VerificationLine(props: { verification: Verification; onDismiss: () => void }): ReactNode {
  const { verification } = props;
  const { tenant, requested_by: by } = verification;
  return (
    <Line
      state={verification.state}
      what={`Verification: ${tenant === null ? 'all tenants' : `tenant ${tenant}`}${by === null ? '' : ` · by ${by}`}`}
      label="Progress of the verification"
      value={verification.bytes_done}
      max={verification.bytes_total ?? 0}
      count={progressText(verification)}
      link={{ href: drawerHref({ kind: 'verify', id: verification.id }), text: 'its report' }}
      onDismiss={props.onDismiss}
    />
  );
}

/** 12 of 24 segments · 18 MB of 36 MB. */
export function progressText(verification: Verification): string {
  const { segments_done, segments_total, bytes_done, bytes_total } = verification;
  if (verification.state !== 'running') return outcomeText(verification);
  if (segments_total === null) return 'counts what there is to read';
  const bytes = `${formatBytes(bytes_done)} of ${formatBytes(bytes_total ?? 0)}`;
  return `${formatCount(segments_done)} of ${countOf(segments_total, 'segment')} · ${bytes}`;
}

const stateWords = { queued: 'queued', running: 'running', completed: 'done', failed: 'failed' };

function Line(props: {
  state: keyof typeof stateWords;
  what: string;
  label: string;
  value: number;
  max: number;
  count: string;
  link: { href: string; text: string };
  onDismiss: () => void;
}): ReactNode {
  const isOpen = isAtWork({ id: '', state: props.state });
  const isEmpty = props.max === 0;
  return (
    <div className={classes.job} data-state={props.state}>
      <strong className={classes.state}>{stateWords[props.state]}</strong>
      <span className={classes.what}>{props.what}</span>
      <progress
        className={classes.progress}
        value={isEmpty && !isOpen ? 1 : props.value}
        max={Math.max(1, props.max)}
        aria-label={props.label}
      />
      <span className={classes.count}>{props.count}</span>
      <span className={classes.buttons}>
        <a href={props.link.href}>{props.link.text}</a>
        {!isOpen && (
          <ActionIcon size={24} aria-label="Close this line" onClick={props.onDismiss}>
            <CloseIcon />
          </ActionIcon>
        )}
      </span>
    </div>
  );
}
