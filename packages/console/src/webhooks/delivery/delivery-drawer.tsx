import { Button } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { DeliveryDetail } from '../../api/types.ts';
import drawerClasses from '../../records/drawer/drawer.module.css';
import { printJson } from '../../records/drawer/print-json.ts';
import { CopyButton } from '../../ui/copy-button.tsx';
import { formatInstant } from '../../ui/format.ts';
import { FailurePanel, useFailure } from '../../ui/freshness.tsx';
import { SkeletonRows } from '../../ui/skeleton.tsx';
import { useZone, zoneName } from '../../ui/zone-switch.tsx';
import { DrawerShell } from '../drawer-shell.tsx';
import { Moment, StatusMark } from '../marks.tsx';
import { failureWords, statusWords } from '../words.ts';
import { Attempts } from './attempts.tsx';
import { curlLine } from './curl-line.ts';
import classes from './delivery.module.css';
import { Payload } from './payload.tsx';
import { PurgeButton } from './purge.tsx';
import type { Retries } from './use-retries.ts';

export type DeliveryDrawerProps = {
  id: string;
  delivery: UseQueryResult<DeliveryDetail>;
  retries: Retries;
  onClose: () => void;
};

/** One delivery: what holds it, what was tried, what is sent. */
export function DeliveryDrawer(props: DeliveryDrawerProps): ReactNode {
  const { id, delivery } = props;
  const failure = useFailure(delivery);
  return (
    <DrawerShell
      kind="DELIVERY"
      title={id}
      id={id}
      closeLabel="Close delivery"
      onClose={props.onClose}
    >
      {delivery.data === undefined ? (
        <div className={drawerClasses.body}>
          {failure === null ? (
            <SkeletonRows rows={14} label="Loading the delivery" />
          ) : (
            <FailurePanel error={failure} onRetry={() => void delivery.refetch()} />
          )}
        </div>
      ) : (
        <Body delivery={delivery.data} retries={props.retries} />
      )}
    </DrawerShell>
  );
}

function Body({ delivery, retries }: { delivery: DeliveryDetail; retries: Retries }): ReactNode {
  const { id, status } = delivery;
  const isDead = status === 'pending' || status === 'abandoned';
  const isOpen = isDead || status === 'queued';
  return (
    <>
      <div className={classes.actions}>
        {isOpen && (
          <Button
            variant="filled"
            disabled={!isDead}
            loading={retries.leaving.has(id)}
            onClick={() => void retries.retry([id])}
          >
            RETRY
          </Button>
        )}
        {isOpen && <PurgeButton id={id} />}
        <span className={classes.spring} />
        <CopyText label="Copy payload" value={() => printJson(delivery.body)} />
        <CopyText label="Copy as curl" value={() => curlLine(delivery)} />
        <CopyText label="Copy link" value={() => window.location.href} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so it must be reached by key */}
      <section className={drawerClasses.body} tabIndex={0} aria-label="The delivery">
        <Standing delivery={delivery} />
        <Facts delivery={delivery} />
        <h3 className={drawerClasses.title}>ATTEMPTS</h3>
        <Attempts attempts={delivery.attempt_log} />
        <h3 className={drawerClasses.title}>PAYLOAD</h3>
        <Payload body={delivery.body} />
      </section>
    </>
  );
}

/** Where it stands, and what holds it. */
function Standing({ delivery }: { delivery: DeliveryDetail }): ReactNode {
  const { status, waiting, finished_at } = delivery;
  return (
    <div className={classes.standing} role="status">
      <p>
        <StatusMark status={status} />
        <span>{statusWords[status]}</span>
      </p>
      {waiting !== null && <p className={classes.waiting}>{waiting.text}</p>}
      {waiting === null && finished_at !== null && (
        <p className={classes.waiting}>
          <Moment at={finished_at} />
        </p>
      )}
    </div>
  );
}

function Facts({ delivery }: { delivery: DeliveryDetail }): ReactNode {
  const [zone] = useZone();
  const when = (at: string | null) =>
    at === null ? (
      <span className={drawerClasses.none}>–</span>
    ) : (
      <>
        {formatInstant(at, zone).slice(0, 19)}
        <span className={drawerClasses.none}>
          <Moment at={at} />
        </span>
      </>
    );
  const zoned = (name: string) => `${name} (${zoneName(zone)})`;
  const { endpoint_id: endpoint, incident_id: incident } = delivery;
  return (
    <dl className={`${drawerClasses.fields} ${classes.facts}`}>
      <Fact name="target" copy={delivery.target}>
        {delivery.target}
      </Fact>
      <Fact name="attempts">
        {delivery.attempts} of {delivery.max_attempts}
      </Fact>
      <Fact name="last status">
        {delivery.last_status ?? <span className={drawerClasses.none}>none ever came</span>}
      </Fact>
      <Fact name="error">
        {delivery.error ?? <span className={drawerClasses.none}>–</span>}
        {delivery.failure_class !== null && (
          <span className={classes.failure}>({failureWords[delivery.failure_class]})</span>
        )}
      </Fact>
      <Fact name={zoned('next retry')}>{when(delivery.next_retry)}</Fact>
      <Fact name={zoned('last attempt')}>{when(delivery.last_attempt_at)}</Fact>
      <Fact name={zoned('created')}>{when(delivery.created_at)}</Fact>
      <Fact name="event type">{delivery.event_type}</Fact>
      <Fact name="tenant">{delivery.tenant}</Fact>
      <Fact name="idempotency key" copy={delivery.idempotency_key}>
        {delivery.idempotency_key}
      </Fact>
      <Fact name="endpoint" copy={endpoint}>
        <a href={`#/endpoints?edit=${encodeURIComponent(endpoint)}`}>{endpoint}</a>
      </Fact>
      <Fact name="incident" copy={incident}>
        <a href={`#/deliveries?incident=${encodeURIComponent(incident)}`}>{incident}</a>
      </Fact>
    </dl>
  );
}

function Fact(props: { name: string; copy?: string; children: ReactNode }): ReactNode {
  return (
    <div>
      <dt>{props.name}</dt>
      <dd>
        {props.children}
        {props.copy !== undefined && (
          <CopyButton value={props.copy} label={`Copy the ${props.name}`} />
        )}
      </dd>
    </div>
  );
}

function CopyText({ label, value }: { label: string; value: () => string }): ReactNode {
  const { copied, copy } = useClipboard({ timeout: 1500 });
  return (
    <Button size="compact-xs" onClick={() => copy(value())}>
      <span aria-live="polite">{copied ? 'Copied' : label}</span>
    </Button>
  );
}
