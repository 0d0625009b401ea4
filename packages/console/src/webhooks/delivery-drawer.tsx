import { Button } from '@mantine/core';
import type { ReactNode } from 'react';
import { api } from '../api/client.ts';
import type { Attempt, DeliveryDetail } from '../api/types.ts';
import { failureWords, targetText } from '../api/values.ts';
import { useAct } from '../ui/act.ts';
import { AskButton } from '../ui/confirm-dialog.tsx';
import { CopyText } from '../ui/copy-button.tsx';
import { Drawer } from '../ui/drawer.tsx';
import { copied, Facts } from '../ui/facts.tsx';
import { visibleText } from '../ui/format.ts';
import { useIsStale } from '../ui/freshness.tsx';
import { printJson } from '../ui/json-source.ts';
import { JsonText } from '../ui/json-text.tsx';
import { whereFree } from '../ui/keys.ts';
import classes from '../ui/lines.module.css';
import { At, Instant, Moment } from '../ui/marks.tsx';
import { panelHref } from '../ui/panel-place.ts';
import { useSession } from '../ui/session.ts';
import { notify } from '../ui/toasts.tsx';
import { formatDuration, shellLine, shortId } from '../ui/words.ts';
import { ErasedAt, JobLink, StatusMark, statusWords } from './marks.tsx';
import { useOnlyTenant } from './only-tenant.ts';
import { webhooksKey } from './query-keys.ts';
import { deliveryHref, incidentHref } from './search.ts';
import { deliveryPath, type Retries, useDelivery } from './use-delivery.ts';

type DeliveryDrawerProps = { id: string; retries: Retries; onClose: () => void };

/** The drawer of one delivery: why it waits, its attempts, and what is sent. */
export function DeliveryDrawer(props: DeliveryDrawerProps): ReactNode {
  const { id, onClose } = props;
  return (
    <Drawer
      kind="DELIVERY"
      title={id}
      id={id}
      onClose={onClose}
      noun="delivery"
      query={useDelivery(id)}
      rows={14}
      actions={(data) => <Actions delivery={data} retries={props.retries} />}
    >
      {(data) => (
        <>
          <Standing delivery={data} />
          <DeliveryFacts delivery={data} />
          <h3 className="caps below-8">ATTEMPTS</h3>
          <Attempts attempts={data.attempt_log} />
          <h3 className="caps below-8">PAYLOAD</h3>
          <ErasedAt at={data.payload_erased_at} />
          <JsonText source={data.body} />
        </>
      )}
    </Drawer>
  );
}

function Actions({ delivery, retries }: { delivery: DeliveryDetail; retries: Retries }): ReactNode {
  const { id, status } = delivery;
  const { hasScope } = useSession();
  const isOpen = status === 'pending' || status === 'abandoned' || status === 'queued';
  const isStale = useIsStale();
  const refusal = whyNoRetry(delivery) ?? (isStale ? notWhileOld : null);
  return (
    <div className="drawer-actions">
      {retries.isAllowed && (
        <Button
          variant={refusal === null ? 'filled' : 'default'}
          {...(refusal !== null && { 'aria-describedby': refusalId })}
          loading={retries.leaving.has(id)}
          {...whereFree(refusal === null, () => void retries.retry([id]))}
        >
          RETRY
        </Button>
      )}
      {/* Apart from RETRY, so that nobody hits it instead. */}
      {isOpen && hasScope('admin') && (
        <span className="push">
          <PurgeButton id={id} />
        </span>
      )}
      {/* Where they do not fit beside the others, they go below these together. */}
      <span className="row gap-6 push">
        <CopyText label="Copy payload" value={() => printJson(delivery.body)} />
        <CopyText label="Copy as curl" value={() => curlLine(delivery)} />
        <CopyText label="Copy link" value={() => window.location.href} />
      </span>
      {retries.isAllowed && refusal !== null && (
        <p id={refusalId} className={`muted small ${classes.refusal}`}>
          {refusal}
        </p>
      )}
    </div>
  );
}

const refusalId = 'no-retry';
const notWhileOld = 'No RETRY before the page is up to date again.';

/** Why a delivery cannot be retried, as the service would say; null when it can. */
export function whyNoRetry({
  status,
  waiting,
  failure_class: failure,
}: Pick<DeliveryDetail, 'status' | 'waiting' | 'failure_class'>): string | null {
  if (failure === 'erased') return 'No RETRY: its payload was erased.';
  if (status === 'delivered' || status === 'discarded') {
    return `No RETRY: it is ${status}, and is not re-armed. SEND AGAIN on its incident makes a new delivery.`;
  }
  if (waiting?.reason === 'disabled')
    return 'No RETRY: its endpoint is disabled. Enable that first.';
  if (waiting?.reason === 'in_flight') return 'No RETRY: an attempt is under way.';
  return status === 'queued' ? 'No RETRY: it is queued already.' : null;
}

type Reason = NonNullable<DeliveryDetail['waiting']>['reason'];

/** What a delivery that is queued or pending waits for, where it is not its own time or its turn. */
const goesWhen: Readonly<Partial<Record<Reason, string>>> = {
  in_flight: 'an attempt is under way',
  disabled: 'goes once its endpoint is enabled',
  poll: 'goes when its receiver polls',
  order: 'goes after another of its key',
  breaker: 'goes when the breaker of its endpoint lets a trial go',
  retry_after: 'goes when its receiver takes more',
  no_drainer: 'due, but no drainer runs',
  silent_drainer: 'due, but its drainer does not answer',
};

/** The reasons that end by themselves at a time that is known. */
const timed: readonly (Reason | undefined)[] = ['schedule', 'breaker', 'retry_after'];

/** What the status means, or what holds the delivery. */
export function standingWords({
  status,
  waiting,
}: Pick<DeliveryDetail, 'status' | 'waiting'>): string {
  const isOnItsWay = status === 'queued' || status === 'pending';
  return (isOnItsWay && waiting && goesWhen[waiting.reason]) || statusWords[status];
}

/** The status of the delivery, and what it waits for. */
function Standing({ delivery }: { delivery: DeliveryDetail }): ReactNode {
  const { status, waiting, finished_at } = delivery;
  const until = timed.includes(waiting?.reason) ? waiting?.until : null;
  return (
    <div className={`box below-12 ${classes.standing}`} role="status">
      <p>
        <StatusMark status={status} />
        <span>
          {standingWords(delivery)}
          {until && (
            <>
              {', '}
              <Moment at={until} />
            </>
          )}
        </span>
      </p>
      {waiting !== null && <p className="muted">{waiting.text}</p>}
      {waiting === null && finished_at !== null && (
        <p className="muted">
          <Moment at={finished_at} />
        </p>
      )}
    </div>
  );
}

/** Where the delivery goes, what it is about, and its times. */
function DeliveryFacts({ delivery }: { delivery: DeliveryDetail }): ReactNode {
  const { endpoint_id: endpoint, incident_id: incident, failure_class: failure } = delivery;
  const { job_id: job } = delivery;
  return (
    <Facts
      facts={{
        target: copied(delivery.target, targetText(delivery.target)),
        attempts: `${delivery.attempts} of ${delivery.max_attempts}`,
        'last status': delivery.last_status ?? <span className="muted">none ever came</span>,
        error: (
          <>
            {delivery.error ?? <span className="muted">–</span>}
            {failure !== null && <span className="muted nowrap">({failureWords[failure]})</span>}
          </>
        ),
        'next retry': <At at={delivery.next_retry} />,
        'last attempt': <At at={delivery.last_attempt_at} />,
        created: <At at={delivery.created_at} />,
        'order key': delivery.order_key ?? undefined,
        sequence: delivery.sequence ?? undefined,
        'waits for':
          delivery.waits_for === null ? undefined : (
            <a href={deliveryHref(delivery.waits_for, endpoint)}>{delivery.waits_for}</a>
          ),
        'replay of': delivery.replay_of === null ? undefined : copied(delivery.replay_of),
        replay:
          delivery.replay_id === null ? undefined : (
            <JobLink id={delivery.replay_id}>{delivery.replay_id}</JobLink>
          ),
        'event type': delivery.event_type,
        tenant: useOnlyTenant() === undefined ? delivery.tenant : undefined,
        'idempotency key': copied(delivery.idempotency_key),
        endpoint: copied(
          endpoint,
          <a href={panelHref('/endpoints', { kind: 'endpoint', id: endpoint })}>{endpoint}</a>,
        ),
        incident: copied(incident, <a href={incidentHref(incident)}>{incident}</a>),
        ...(job !== null && { 'bulk job': copied(job, <JobLink id={job}>{job}</JobLink>) }),
      }}
    />
  );
}

/** The attempts, newest first, with what came of each. */
function Attempts({ attempts }: { attempts: readonly Attempt[] }): ReactNode {
  if (attempts.length === 0) return <p className="muted below-16">No attempt yet.</p>;
  return (
    <ol className="below-16" reversed>
      {attempts.map((attempt) => (
        <AttemptLine key={attempt.number} attempt={attempt} />
      ))}
    </ol>
  );
}

/** One attempt: when, how long it took, what came of it, and how the answer began. */
function AttemptLine({ attempt }: { attempt: Attempt }): ReactNode {
  const { failure_class: failure, response } = attempt;
  return (
    <li className={`thread ${classes.attempt}`} data-failed={failure !== null}>
      <div className={`flex wrap ${classes.attemptHead}`}>
        <span className="muted">#{attempt.number}</span>
        <strong>{attempt.status ?? '–'}</strong>
        <span>{failure === null ? 'delivered' : failureWords[failure]}</span>
        <span className="muted">{formatDuration(attempt.duration_ms)}</span>
        <span className="muted">
          <Instant at={attempt.started_at} /> · <Moment at={attempt.started_at} />
        </span>
      </div>
      {attempt.error !== null && <p className="break">{visibleText(attempt.error)}</p>}
      {response !== null && response !== '' && (
        <details>
          <summary>Answer, {response.length} characters</summary>
          <pre className={`box break ${classes.response}`}>{visibleText(response)}</pre>
        </details>
      )}
    </li>
  );
}

type Sent = { target: string; idempotency_key: string; body: string };

/** The delivery as a curl command, without a signature: that takes the secret, which cannot be read anywhere. */
export function curlLine({ target, idempotency_key, body }: Sent): string {
  const headers = ['content-type: application/json', `webhook-id: ${idempotency_key}`];
  return shellLine([
    'curl',
    '-sS',
    '-i',
    '-X',
    'POST',
    ...headers.flatMap((header) => ['-H', header]),
    '--data-raw',
    body,
    target,
  ]);
}

/** Purges a delivery, after a question. The call itself asks for the access token. */
function PurgeButton({ id }: { id: string }): ReactNode {
  const purge = useAct({
    call: () => api.delete(deliveryPath(id)),
    onDone: () => notify({ text: `Discarded ${shortId(id)}` }),
    failed: `Not discarded: ${shortId(id)}`,
    changes: webhooksKey,
  });
  return (
    <AskButton
      text="PURGE…"
      isBusy={purge.isPending}
      title={`Discard ${shortId(id)}?`}
      answer="Discard"
      onYes={() => purge.mutate()}
    >
      It will never be delivered, and no retry brings it back. The stored answers go at once, and
      the payload, unless another delivery of the incident still needs it.
    </AskButton>
  );
}
