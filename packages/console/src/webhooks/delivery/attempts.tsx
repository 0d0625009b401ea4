import type { ReactNode } from 'react';
import type { Attempt } from '../../api/types.ts';
import { formatInstant, visibleText } from '../../ui/format.ts';
import { useZone } from '../../ui/zone-switch.tsx';
import { Moment } from '../marks.tsx';
import { failureWords, formatDuration } from '../words.ts';
import classes from './delivery.module.css';

/** What every attempt met, newest first. */
export function Attempts({ attempts }: { attempts: readonly Attempt[] }): ReactNode {
  if (attempts.length === 0) return <p className={classes.note}>No attempt yet.</p>;
  return (
    <ol className={classes.attempts} reversed>
      {attempts.map((attempt) => (
        <AttemptLine key={attempt.number} attempt={attempt} />
      ))}
    </ol>
  );
}

function AttemptLine({ attempt }: { attempt: Attempt }): ReactNode {
  const [zone] = useZone();
  const { failure_class: failure, response } = attempt;
  return (
    <li className={classes.attempt} data-failed={failure !== null}>
      <div className={classes.attemptHead}>
        <span className={classes.attemptNumber}>#{attempt.number}</span>
        <strong>{attempt.status ?? '–'}</strong>
        <span>{failure === null ? 'delivered' : failureWords[failure]}</span>
        <span className={classes.attemptTime}>{formatDuration(attempt.duration_ms)}</span>
        <span className={classes.attemptTime}>
          {formatInstant(attempt.started_at, zone).slice(0, 19)} ·{' '}
          <Moment at={attempt.started_at} />
        </span>
      </div>
      {attempt.error !== null && (
        <p className={classes.attemptError}>{visibleText(attempt.error)}</p>
      )}
      {response !== null && response !== '' && (
        <details>
          <summary>Answer, {response.length} characters</summary>
          <pre className={classes.response}>{visibleText(response)}</pre>
        </details>
      )}
    </li>
  );
}
