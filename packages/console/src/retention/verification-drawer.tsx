import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { Verification } from '../api/types.ts';
import drawerClasses from '../ui/drawer.module.css';
import { formatBytes, formatCount, formatInstant } from '../ui/format.ts';
import { FailurePanel, useFailure } from '../ui/freshness.tsx';
import { CloseIcon, OkIcon } from '../ui/icons.tsx';
import { SkeletonRows } from '../ui/list.tsx';
import { Panel } from '../ui/panel.tsx';
import { countOf } from '../ui/words.ts';
import { useZone, zoneName } from '../ui/zone-switch.tsx';
import { isAtWork, outcomeText, progressText } from './jobs.tsx';
import classes from './verify.module.css';
import { daysText, problemWords } from './words.ts';

/** The drawer of a verification: its progress, then that everything is equal, or what is not. */
export function VerificationDrawer(props: {
  id: string;
  verification: UseQueryResult<Verification>;
  onClose: () => void;
}): ReactNode {
  const { verification: query } = props;
  const failure = useFailure(query);
  const verification = query.data;
  return (
    <Panel
      kind="VERIFICATION"
      title={props.id}
      id={props.id}
      closeLabel="Close verification"
      onClose={props.onClose}
    >
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, by key as well */}
      <section className={drawerClasses.body} tabIndex={0} aria-label="The verification">
        {verification !== undefined && <Report verification={verification} />}
        {verification === undefined && failure === null && (
          <SkeletonRows rows={12} label="Loading the verification" />
        )}
        {verification === undefined && failure !== null && (
          <FailurePanel error={failure} onRetry={() => void query.refetch()} />
        )}
      </section>
    </Panel>
  );
}

function Report({ verification }: { verification: Verification }): ReactNode {
  return (
    <>
      <Verdict verification={verification} />
      <Facts verification={verification} />
      <Problems verification={verification} />
    </>
  );
}

function Verdict({ verification }: { verification: Verification }): ReactNode {
  const isOpen = isAtWork(verification);
  const tone = isOpen ? 'open' : verification.ok === true ? 'ok' : 'bad';
  const text = isOpen ? progressText(verification) : outcomeText(verification);
  return (
    <div className={`box below-12 ${classes.verdict}`} data-tone={tone} role="status">
      <strong>
        {tone === 'ok' && <OkIcon />}
        {tone === 'bad' && <CloseIcon />}
        {text.charAt(0).toUpperCase() + text.slice(1)}
      </strong>
      {isOpen && (
        <progress
          value={verification.bytes_done}
          max={Math.max(1, verification.bytes_total ?? 0)}
          aria-label="Bytes read"
        />
      )}
      {verification.error !== null && <p>{verification.error}</p>}
      {tone === 'bad' && verification.state === 'completed' && (
        <p>Nothing was changed. Reads that meet what is damaged fail rather than answer short.</p>
      )}
    </div>
  );
}

/** What limited the verification, if anything did. */
function scopeLines(
  { since, sample_percent: percent }: Verification,
  when: (at: string | null) => string,
): [string, string][] {
  const lines: [string, string][] = [];
  if (since !== null) lines.push(['not found right since', when(since)]);
  if (percent !== null) lines.push(['sample', `${percent} %`]);
  return lines;
}

/** What was verified, and when. */
function Facts({ verification }: { verification: Verification }): ReactNode {
  const [zone] = useZone();
  const when = (at: string | null) =>
    at === null ? '–' : `${formatInstant(at, zone)} ${zoneName(zone)}`;
  const { segments_total: total, bytes_total: bytes } = verification;
  const lines: [string, string][] = [
    ['tenant', verification.tenant ?? 'all tenants'],
    ...scopeLines(verification, when),
    ['asked for by', verification.requested_by ?? '–'],
    ['started', when(verification.started_at)],
    ['ended', when(verification.finished_at)],
    [
      'segments read',
      total === null ? '–' : `${formatCount(verification.segments_done)} of ${formatCount(total)}`,
    ],
    [
      'bytes read',
      bytes === null ? '–' : `${formatBytes(verification.bytes_done)} of ${formatBytes(bytes)}`,
    ],
    ['records read back', formatCount(verification.records_done)],
  ];
  return (
    <dl className={`below-16 ${drawerClasses.fields}`}>
      {lines.map(([name, text]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
}

/** The problems that were found. The service lists only some of them if they are many. */
function Problems({ verification }: { verification: Verification }): ReactNode {
  const { problems, problem_count: count } = verification;
  if (count === 0) return null;
  return (
    <>
      <h3 className="caps below-8">
        {countOf(count, 'PROBLEM', 'PROBLEMS')}
        {problems.length < count && `, the first ${formatCount(problems.length)}`}
      </h3>
      <ul>
        {problems.map((problem) => (
          <li key={JSON.stringify(problem)} className={classes.problem}>
            <p>
              <strong className="danger bold">{problemWords[problem.kind]}</strong>{' '}
              {placeOf(problem)}
            </p>
            <p>{problem.message}</p>
            {problem.object_key !== null && <code>{problem.object_key}</code>}
          </li>
        ))}
      </ul>
    </>
  );
}

function placeOf(problem: Verification['problems'][number]): string {
  const { tenant, store, first_day: first, last_day: last } = problem;
  const days = first === null ? null : daysText(first, last ?? first);
  return [tenant, store, days].filter((part) => part !== null).join(' › ');
}
