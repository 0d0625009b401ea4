import type { ReactNode } from 'react';
import type { Verification } from '../api/types.ts';
import { Drawer } from '../ui/drawer.tsx';
import { Facts } from '../ui/facts.tsx';
import { formatBytes, formatCount } from '../ui/format.ts';
import { CloseIcon, OkIcon } from '../ui/icons.tsx';
import { Instant } from '../ui/marks.tsx';
import { countOf } from '../ui/words.ts';
import { isAtWork, useVerification } from './calls.ts';
import { outcomeText, progressText } from './jobs.tsx';
import classes from './verify.module.css';
import { daysText, problemWords } from './words.ts';

/** The drawer of a verification: its progress, then that everything is equal, or what is not. */
export function VerificationDrawer(props: { id: string; onClose: () => void }): ReactNode {
  const query = useVerification(props.id);
  return (
    <Drawer
      kind="VERIFICATION"
      title={props.id}
      {...props}
      query={query}
      noun="verification"
      rows={12}
    >
      {(verification) => (
        <>
          <Verdict verification={verification} />
          <VerificationFacts verification={verification} />
          <Problems verification={verification} />
        </>
      )}
    </Drawer>
  );
}

function Verdict({ verification }: { verification: Verification }): ReactNode {
  const isOpen = isAtWork(verification);
  const tone = isOpen ? 'open' : verification.ok === true ? 'ok' : 'bad';
  const text = isOpen ? progressText(verification) : outcomeText(verification);
  return (
    <div className={`box below-12 ${classes.verdict}`} data-tone={tone} role="status">
      <strong className="mark">
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

/** What was verified, and when. */
function VerificationFacts({ verification }: { verification: Verification }): ReactNode {
  const { since, sample_percent: percent } = verification;
  const { segments_total: total, bytes_total: bytes } = verification;
  return (
    <Facts
      facts={{
        tenant: verification.tenant ?? 'all tenants',
        'not found right since': since === null ? undefined : <Instant at={since} />,
        sample: percent === null ? undefined : `${percent} %`,
        'asked for by': verification.requested_by ?? '–',
        started: <Instant at={verification.started_at} />,
        ended: <Instant at={verification.finished_at} />,
        'segments read':
          total === null
            ? '–'
            : `${formatCount(verification.segments_done)} of ${formatCount(total)}`,
        'bytes read':
          bytes === null ? '–' : `${formatBytes(verification.bytes_done)} of ${formatBytes(bytes)}`,
        'records read back': formatCount(verification.records_done),
      }}
    />
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
          <li key={JSON.stringify(problem)} className={`break line-under ${classes.problem}`}>
            <p>
              <strong className="danger bold">{problemWords[problem.kind]}</strong>{' '}
              {placeOf(problem)}
            </p>
            <p>{problem.message}</p>
            {problem.object_key !== null && <code className="muted">{problem.object_key}</code>}
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
