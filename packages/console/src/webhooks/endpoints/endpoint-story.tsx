import { type ReactNode, useMemo } from 'react';
import type { DeliveryHours, Endpoint, EndpointStory } from '../../api/types.ts';
import { failureWords } from '../../api/values.ts';
import { CancelJob, CancelQuestion } from '../../ui/cancel-job.tsx';
import {
  attemptSeries,
  Bars,
  barsOfHours,
  dayOf,
  sayAttempts,
} from '../../ui/chart/delivery-hours.ts';
import { backlogText, EndpointHealth } from '../../ui/endpoint.tsx';
import { formatCount, formatInstant, formatShare, visibleText } from '../../ui/format.ts';
import { useFailure } from '../../ui/freshness.tsx';
import { stringifySearch } from '../../ui/hash-state.ts';
import { FailingIcon, OkIcon } from '../../ui/icons.tsx';
import { Moment, usePageNow } from '../../ui/marks.tsx';
import { panelHref } from '../../ui/panel-place.ts';
import { useRead } from '../../ui/poll.tsx';
import { useSession } from '../../ui/session.ts';
import { countOf, formatDistance, formatDuration, shortId } from '../../ui/words.ts';
import { useZone, zoneName } from '../../ui/zone-switch.tsx';
import { JobLink } from '../marks.tsx';
import { endpointsKey } from '../query-keys.ts';
import { type DeliveriesSearch, type DlqSearch, deliveryHref } from '../search.ts';
import classes from './endpoint-story.module.css';

/** So many characters of an answer: about three lines. All of it is in the delivery. */
const mostShown = 200;

type Attempt = EndpointStory['attempts'][number];

/** How an endpoint fared: why it failed, what became of its newest attempts, how it answers, and where to look next. */
export function Story({ id, story }: { id: string; story: EndpointStory }): ReactNode {
  return (
    <section aria-label="How it fared">
      {(story.last_error !== null || story.attempts.length > 0) && (
        <LastError id={id} error={story.last_error} />
      )}
      <Hours id={id} />
      <Attempts id={id} attempts={story.attempts} />
      <Periods periods={story.periods} />
      <Links id={id} story={story} />
    </section>
  );
}

/** How an endpoint is since when, what waits for it, and what happens next by itself. */
export function Standing({ endpoint }: { endpoint: Endpoint }): ReactNode {
  const { disabled_at, failing_since: failing, backlog } = endpoint;
  const since = disabled_at ?? failing;
  const waits = backlogText(backlog);
  return (
    <div className="below-12" role="status">
      <p>
        <EndpointHealth endpoint={endpoint} />
        {since !== null && (
          <>
            {' '}
            since <Moment at={since} />
          </>
        )}
        {' · '}
        <a href={`#/deliveries${stringifySearch({ endpoint: endpoint.id })}`}>
          {backlog.count === 0 ? 'nothing waits' : `${waits} waiting`}
        </a>
      </p>
      <p className="muted">{whatIsNext(endpoint)}</p>
    </div>
  );
}

/** What happens next by itself, or what somebody has to do first. */
function whatIsNext(endpoint: Endpoint): ReactNode {
  const { enabled, breaker, backlog, throttled_until: until } = endpoint;
  if (backlog.is_discarding) return 'What waits is being discarded; then it is enabled.';
  if (!enabled) return 'Nothing is sent until somebody enables it. What comes for it waits.';
  if (endpoint.type === 'pull') {
    if (endpoint.health !== 'unpolled') return 'Its receiver fetches what waits.';
    return 'Nobody has fetched for an hour what waits. It comes with the next poll.';
  }
  if (breaker.state === 'open' && breaker.paused_until !== null) {
    return (
      <>
        Paused after {countOf(breaker.failures_in_row, 'failure')} in a row. One delivery is tried
        again <Moment at={breaker.paused_until} />; if it succeeds, the others follow.
      </>
    );
  }
  if (breaker.state !== 'closed') return 'One delivery is tried again now; the others wait for it.';
  if (until !== null) {
    return (
      <>
        Its receiver asked for a pause: the next is sent <Moment at={until} />.
      </>
    );
  }
  return afterFailures(endpoint);
}

/** Whether what failed is tried again by itself, and whether somebody has to let others go. */
export function afterFailures({
  failing_since: failing,
  story,
}: Pick<Endpoint, 'failing_since'> & { story?: Pick<EndpointStory, 'dead_letters' | 'blocked'> }):
  | string
  | null {
  const isTried = story?.dead_letters.some(({ status }) => status === 'pending') ?? true;
  const isStuck = story?.blocked.some(({ status }) => status === 'abandoned');
  const said = [
    ...(failing !== null && isTried ? ['What failed is tried again by its schedule.'] : []),
    ...(isStuck ? ['What is abandoned and blocks a key waits for RETRY or SKIP.'] : []),
  ];
  return said.join(' ') || null;
}

function LastError({ id, error: last }: { id: string; error: EndpointStory['last_error'] }) {
  if (last === null) {
    return (
      <p className={`box below-12 ${classes.error}`}>
        <span className="mark ok">
          <OkIcon /> no error
        </span>{' '}
        among its newest attempts, and no dead letter
      </p>
    );
  }
  const { at, delivery_id, failure_class: failure, status, error, answer } = last;
  return (
    <div className={`box below-12 ${classes.error}`}>
      <p className="break">
        <span className="mark danger">
          <FailingIcon /> <strong>{visibleText(error ?? `answered ${status}`)}</strong>
        </span>
      </p>
      <p className="muted">
        {failure !== null && `${failureWords[failure]} · `}
        <Moment at={at} /> · <a href={deliveryHref(delivery_id, id)}>the delivery</a>
      </p>
      {answer !== null && answer.trim() !== '' && (
        <p className="break muted">
          It answered: {visibleText(answer.trim().slice(0, mostShown))}
          {answer.trim().length > mostShown && ' …'}
        </p>
      )}
    </div>
  );
}

/** The attempts of the last day, each hour a link to the deliveries of its day. */
function Hours({ id }: { id: string }): ReactNode {
  const [zone] = useZone();
  const hours = useRead<DeliveryHours>([...endpointsKey, 'hours', id], '/stats/deliveries', {
    params: { endpoint_id: id, hours: 24 },
    isOne: true,
    isAside: true,
  });
  const { data } = hours;
  const failure = useFailure(hours);
  const bars = useMemo(() => data && barsOfHours(data, zone), [data, zone]);
  if (data === undefined && failure !== null) {
    return <p className="muted below-12">The attempts per hour could not be read.</p>;
  }
  if (bars?.every(({ parts }) => parts.every((part) => part === 0))) {
    return <p className="muted below-12">No attempt in 24 hours.</p>;
  }
  return (
    <div className={`below-12 ${classes.hours}`}>
      {bars === undefined ? (
        <span className={`bone ${classes.bone}`} aria-hidden="true" />
      ) : (
        <Bars
          label="Attempts per hour, 24 hours"
          bars={bars}
          series={attemptSeries}
          say={sayAttempts}
          onOpen={(hour) => {
            const search = { endpoint: id, ...dayOf(hour, zone) };
            window.location.hash = `#/deliveries${stringifySearch(search)}`;
          }}
        />
      )}
    </div>
  );
}

function Attempts({ id, attempts }: { id: string; attempts: readonly Attempt[] }) {
  const [zone] = useZone();
  const now = usePageNow();
  if (attempts.length === 0) return <p className="muted below-12">No attempt is remembered.</p>;
  return (
    <div className={`row wrap gap-8 below-12 ${classes.attempts}`}>
      <ol aria-label="Its newest attempts, the newest first" className="row wrap">
        {attempts.map((attempt) => {
          const { delivery_id, number, started_at: at, failure_class: failure } = attempt;
          const when = `${formatInstant(at.replace(/\.\d+/, ''), zone)} ${zoneName(zone)}`;
          return (
            <li key={`${delivery_id} ${number}`}>
              <a
                className={`mark ${failure === null ? 'ok' : 'danger'}`}
                href={deliveryHref(delivery_id, id)}
                title={`${when} · ${outcomeOf(attempt)} · ${formatDuration(attempt.duration_ms)}`}
              >
                {failure === null ? <OkIcon /> : <FailingIcon />}
                <span className="visually-hidden">
                  {outcomeOf(attempt)}, {formatDistance(at, now)}
                </span>
              </a>
            </li>
          );
        })}
      </ol>
      <span className="muted small">newest first</span>
    </div>
  );
}

/** What came of an attempt: `204 delivered`, or why not. */
function outcomeOf({ status, failure_class: failure, error }: Attempt): string {
  if (failure === null) return `${status} delivered`;
  const told = error === null ? '' : `: ${visibleText(error)}`;
  return `${failureWords[failure]}${told}`;
}

/** A link to the question before all dead letters of an endpoint are retried that failed so. */
function retryHref(of: { status: string; endpoint: string; failure: string }): string {
  const { status, endpoint, failure } = of;
  const place = { kind: 'retry', id: [status, endpoint, failure].join('/') };
  return panelHref('/dlq', place, { endpoint, view: 'groups' });
}

const percentiles = ['p50_ms', 'p95_ms', 'p99_ms'] as const;

function Periods({ periods }: { periods: EndpointStory['periods'] }) {
  return (
    <table className="numbers">
      <caption className="visually-hidden">
        The attempts of 24 hours, 7 and 30 days, and how long their answers took
      </caption>
      <thead>
        <tr className="caps">
          <th scope="col">LAST</th>
          <th scope="col">TRIED</th>
          <th scope="col">OK</th>
          {percentiles.map((name) => (
            <th key={name} scope="col" title="So many of the answers took no longer than this">
              {name.slice(0, 3).toUpperCase()}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {periods.map((period) => (
          <tr key={period.hours}>
            <th scope="row">{period.hours === 24 ? '24 h' : `${period.hours / 24} d`}</th>
            <td>{formatCount(period.attempts)}</td>
            <td>{formatShare(period.success_share)}</td>
            {percentiles.map((name) => (
              <td key={name}>{within(period[name])}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function within(millis: number | null): ReactNode {
  if (millis === null) return <span className="muted">–</span>;
  return `≤ ${millis < 1000 ? `${millis} ms` : `${millis / 1000} s`}`;
}

/** Where to look next: what waits, its dead letters by what they failed of, its deliveries and its bulk retries. */
function Links({ id, story }: { id: string; story: EndpointStory }) {
  const { oldest_waiting: oldest, dead_letters: dead, jobs, replays } = story;
  const isAdmin = useSession().hasScope('admin');
  const dlqHref = (more: DlqSearch) => `#/dlq${stringifySearch({ endpoint: id, ...more })}`;
  const deliveriesHref = (more: DeliveriesSearch = {}) =>
    `#/deliveries${stringifySearch({ endpoint: id, ...more })}`;
  return (
    <ul className={`below-16 ${classes.links}`}>
      {oldest !== null && (
        <li>
          The oldest that waits was made <Moment at={oldest.since} />
          {oldest.is_exact ? '' : ', or earlier'}
        </li>
      )}
      {dead.map(({ status, failure_class: failure, count }) => (
        <li key={`${status} ${failure}`}>
          <a
            href={
              isAdmin ? dlqHref({ status, failure }) : deliveriesHref({ status, class: failure })
            }
          >
            {formatCount(count)} {status}
          </a>
          : {failureWords[failure]}
          {isAdmin && (
            <>
              {' · '}
              <a href={retryHref({ status, endpoint: id, failure })}>Retry…</a>
            </>
          )}
        </li>
      ))}
      <li>
        {isAdmin && dead.length > 0 && (
          <>
            <a href={dlqHref({ view: 'groups' })}>All its dead letters, to retry</a> ·{' '}
          </>
        )}
        <a href={deliveriesHref()}>all its deliveries</a>
      </li>
      <CancelQuestion>
        {replays.map((replay) => (
          <ReplayLine key={replay.id} replay={replay} />
        ))}
      </CancelQuestion>
      {jobs.map((job) => (
        <li key={job.id}>
          <JobLink id={job.id}>
            Bulk {job.action} {shortId(job.id)}
          </JobLink>
          : {job.state}, {formatCount(job.rows_done)} of{' '}
          {countOf(job.rows_total, 'delivery', 'deliveries')} · <Moment at={job.created_at} />
        </li>
      ))}
    </ul>
  );
}

/** How far a replay is. Whoever may not see all jobs can end it here, since there is no other place. */
function ReplayLine({ replay }: { replay: EndpointStory['replays'][number] }): ReactNode {
  const { id, state, rows_done: done, rows_total: total, waits_for_endpoint: waits } = replay;
  const { hasScope } = useSession();
  const isOpen = state === 'running' || state === 'paused';
  return (
    <li>
      <JobLink id={id}>Replay {shortId(id)}</JobLink>: {state},{' '}
      {total !== null && `${formatCount(done)} of `}
      {countOf(total ?? done, 'delivery', 'deliveries')} sent on
      {waits && ', waits for the endpoint to be enabled'} · <Moment at={replay.created_at} />
      {isOpen && hasScope('deliveries:retry') && !hasScope('dlq:operate') && (
        <>
          {' '}
          <CancelJob job={{ id, kind: 'replay' }} isSmall />
        </>
      )}
    </li>
  );
}
