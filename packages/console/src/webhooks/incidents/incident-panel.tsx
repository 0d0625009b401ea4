import { Button } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { Delivery, IncidentDetail, Page } from '../../api/types.ts';
import { targetText } from '../../api/values.ts';
import { AskButton } from '../../ui/confirm-dialog.tsx';
import { CopyButton, CopyText } from '../../ui/copy-button.tsx';
import { Drawer } from '../../ui/drawer.tsx';
import { Target } from '../../ui/endpoint.tsx';
import { Facts, Remains } from '../../ui/facts.tsx';
import { sliceHref, stringifySearch } from '../../ui/hash-state.ts';
import { printJson } from '../../ui/json-source.ts';
import { JsonText } from '../../ui/json-text.tsx';
import { Loaded } from '../../ui/list.tsx';
import { LiveButton } from '../../ui/live-button.tsx';
import { At, Moment } from '../../ui/marks.tsx';
import { panelHref } from '../../ui/panel-place.ts';
import { useSession } from '../../ui/session.ts';
import { countOf, sliceText } from '../../ui/words.ts';
import { isRetriable } from '../delivery-columns.tsx';
import { useEndpointNames } from '../endpoint-names.ts';
import { ErasedAt, StatusMark, urgentFirst } from '../marks.tsx';
import { useSendAgain } from '../replays/replay-dialog.tsx';
import type { Retries } from '../use-delivery.ts';
import classes from './incidents.module.css';
import { useDeliveriesOf, useEraseIncident, useIncident } from './use-incidents.ts';

type IncidentPanelProps = { id: string; retries: Retries; onClose: () => void };

/** So many endpoints are listed of those that did not get it. */
const shownFiltered = 10;

/** The panel of one incident: its deliveries, and what is sent. */
export function IncidentPanel(props: IncidentPanelProps): ReactNode {
  const { id, retries, onClose } = props;
  const seesDeliveries = useSession().hasScope('webhooks:read');
  const read = useDeliveriesOf(id, seesDeliveries);
  // Those who may not see where deliveries go see their states.
  const deliveries = seesDeliveries ? read : undefined;
  const erase = useEraseIncident(id);
  return (
    <Drawer
      kind="INCIDENT"
      title={id}
      id={id}
      onClose={onClose}
      noun="incident"
      query={useIncident(id)}
      rows={14}
      actions={(data) => (
        <Actions incident={data} deliveries={deliveries} retries={retries} erase={erase} />
      )}
    >
      {(data) => (
        <>
          <IncidentFacts incident={data} />
          {deliveries === undefined ? (
            <States incident={data} />
          ) : (
            <Deliveries incident={data} deliveries={deliveries} retries={retries} />
          )}
          <Missing incident={data} />
          <h3 className="caps below-8">PAYLOAD</h3>
          <ErasedAt at={data.erased_at} />
          <JsonText source={data.body} />
          {erase.data !== undefined && <Remains remains={erase.data.remains} />}
        </>
      )}
    </Drawer>
  );
}

function Actions(props: {
  incident: IncidentDetail;
  deliveries: UseQueryResult<Page<Delivery>> | undefined;
  retries: Retries;
  erase: ReturnType<typeof useEraseIncident>;
}): ReactNode {
  const { incident, deliveries, retries, erase } = props;
  const failed = deliveries?.data?.data.filter(isRetriable) ?? [];
  const isWaiting = ({ status }: Delivery) => status === 'queued' || status === 'pending';
  const waiting = deliveries?.data?.data.filter(isWaiting).length ?? 0;
  const { hasScope } = useSession();
  return (
    <div className="drawer-actions">
      {retries.isAllowed && failed.length > 0 && (
        <LiveButton
          variant="filled"
          loading={failed.every(({ id }) => retries.leaving.has(id))}
          onClick={() => void retries.retry(failed.map(({ id }) => id))}
        >
          RETRY {failed.length > 1 && `${failed.length} failed`}
        </LiveButton>
      )}
      <span className="grow" />
      {erase.data !== undefined && (
        <CopyText label="Copy receipt" value={() => JSON.stringify(erase.data, null, 2)} />
      )}
      {hasScope('admin') && incident.erased_at === null && (
        <AskButton
          text="ERASE…"
          isBusy={erase.isPending}
          title="Erase what this incident tells?"
          answer="Erase"
          onYes={() => erase.mutate()}
        >
          {`Its payload, its idempotency key and the stored answers of receivers go, for good. ${waiting === 0 ? 'What waits to be sent' : `What waits to be sent (${countOf(waiting, 'delivery', 'deliveries')})`} is cancelled, and nothing can be retried. Times, sizes and states stay.`}
        </AskButton>
      )}
      <CopyText label="Copy payload" value={() => printJson(incident.body)} />
      <CopyText label="Copy link" value={() => window.location.href} />
    </div>
  );
}

function IncidentFacts({ incident }: { incident: IncidentDetail }): ReactNode {
  const { hasScope } = useSession();
  const { tenant, store, occurred_at: at } = incident;
  const day = at.slice(0, 10);
  const slice = { tenant, store: store ?? undefined, from: day, to: day };
  return (
    <Facts
      facts={{
        type: incident.type,
        tenant,
        store,
        occurred: <At at={at} />,
        reported: <At at={incident.created_at} />,
        'records of that day': hasScope('enrichment:read') ? (
          <a href={sliceHref(slice)}>{sliceText(slice)}</a>
        ) : undefined,
      }}
    />
  );
}

/** The deliveries, what needs a person first. Each leads to its drawer in DELIVERIES. */
function Deliveries(props: {
  incident: IncidentDetail;
  deliveries: UseQueryResult<Page<Delivery>>;
  retries: Retries;
}): ReactNode {
  const { incident, deliveries, retries } = props;
  const rows = inUrgency(deliveries.data?.data ?? []);
  const all = `#/deliveries${stringifySearch({ incident: incident.id })}`;
  return (
    <>
      <div className="flex between baseline gap-12">
        <h3 className="caps below-8">DELIVERIES</h3>
        {rows.length > 0 && (
          <a href={all}>
            {deliveries.data?.next_cursor ? 'all of them in DELIVERIES' : 'show in DELIVERIES'}
          </a>
        )}
      </div>
      <Loaded query={deliveries} name="the deliveries" rows={2}>
        {() =>
          rows.length === 0 ? (
            <NoDeliveries incident={incident} />
          ) : (
            <ul className="line-over below-16">
              {rows.map((delivery) => (
                <DeliveryLine
                  key={delivery.id}
                  delivery={delivery}
                  isErased={incident.erased_at !== null}
                  retries={retries}
                />
              ))}
            </ul>
          )
        }
      </Loaded>
    </>
  );
}

function SendAgain({ delivery }: { delivery: Delivery }): ReactNode {
  const again = useSendAgain();
  return (
    <AskButton
      text="SEND AGAIN…"
      isSmall
      isPlain
      isBusy={again.isPending}
      title={`Send it to ${targetText(delivery.target)} again?`}
      answer="Send again"
      onYes={() => again.mutate(delivery)}
    >
      It comes under a new webhook-id, with the first one in webhook-replay: a receiver that drops
      repeats by webhook-id takes it for new.
    </AskButton>
  );
}

function DeliveryLine(props: {
  delivery: Delivery;
  isErased: boolean;
  retries: Retries;
}): ReactNode {
  const { delivery, isErased, retries } = props;
  const { id, incident_id: incident, status, target, attempts, max_attempts: most } = delivery;
  const at = delivery.finished_at ?? delivery.last_attempt_at;
  const hasEnded = status === 'delivered' || status === 'discarded';
  return (
    <li className={`grid line-under ${classes.delivery}`}>
      <StatusMark status={status} />
      <div>
        <a href={panelHref('/deliveries', { kind: 'delivery', id }, { incident })}>
          <Target target={target} />
        </a>
        <p className="cut muted small" title={delivery.error ?? ''}>
          {attempts} of {most}
          {at !== null && (
            <>
              {' · '}
              <Moment at={at} />
            </>
          )}
          {delivery.waits_for_endpoint && ' · its endpoint is disabled'}
          {status !== 'delivered' && delivery.error !== null && ` · ${delivery.error}`}
        </p>
      </div>
      {retries.isAllowed && isRetriable(delivery) && (
        <LiveButton
          size="compact-xs"
          loading={retries.leaving.has(id)}
          onClick={() => void retries.retry([id])}
        >
          RETRY<span className="visually-hidden"> the delivery to {targetText(target)}</span>
        </LiveButton>
      )}
      {retries.isAllowed && hasEnded && !isErased && <SendAgain delivery={delivery} />}
    </li>
  );
}

function NoDeliveries({ incident }: { incident: IncidentDetail }): ReactNode {
  const { tenant, type, filtered_out: filtered, held_back: held } = incident;
  if (filtered.length + held.length > 0) return <p className="muted below-16">None.</p>;
  return (
    <p className="muted below-16">
      None: no <a href={`#/endpoints${stringifySearch({ tenant })}`}>endpoint of {tenant}</a> wanted{' '}
      {type} when it was reported.
    </p>
  );
}

/** The endpoints of its tenant that have no delivery of it, by the reason for that. */
function Missing({ incident }: { incident: IncidentDetail }): ReactNode {
  const { tenant, filtered_out: filtered, held_back: held, deliveries } = incident;
  const { hasScope } = useSession();
  const names = useEndpointNames(tenant, hasScope('webhooks:read'));
  const got = deliveries.map(({ endpoint_id: id }) => id);
  const without = (ids: readonly string[], others: readonly string[]) =>
    ids.filter((id) => !others.includes(id));
  const maySend = hasScope('deliveries:retry') && incident.erased_at === null;
  const shared = { names, incident: maySend ? incident.id : undefined };
  const others = maySend ? without(Object.keys(names), [...got, ...filtered, ...held]) : [];
  return (
    <>
      <NotSent title="FILTERED OUT" ids={without(filtered, got)} {...shared} />
      <NotSent title="HELD BACK: TOO MUCH WAITED" ids={without(held, got)} {...shared} />
      <NotSent title="OTHER ENDPOINTS" ids={others} {...shared} />
    </>
  );
}

/** Endpoints that did not get the incident, of which some may be deleted by now. A button may send it to them. */
function NotSent(props: {
  title: string;
  ids: readonly string[];
  names: Readonly<Record<string, string>>;
  incident: string | undefined;
}): ReactNode {
  const { title, ids, names, incident } = props;
  const { hasScope } = useSession();
  const again = useSendAgain();
  const [isWhole, setIsWhole] = useState(false);
  if (ids.length === 0) return null;
  const shown = isWhole ? ids : ids.slice(0, shownFiltered);
  return (
    <>
      <h3 className="caps below-8">{title}</h3>
      <ul className="line-over below-16">
        {shown.map((id) => (
          <li key={id} className={`grid line-under ${classes.delivery}`}>
            <span className="muted">no delivery</span>
            {hasScope('webhooks:read') ? (
              <a href={panelHref('/endpoints', { kind: 'endpoint', id })}>{names[id] ?? id}</a>
            ) : (
              <span>{id}</span>
            )}
            {incident !== undefined && (
              <Button
                size="compact-xs"
                disabled={again.isPending}
                onClick={() => again.mutate({ endpoint_id: id, incident_id: incident })}
              >
                SEND<span className="visually-hidden"> it to {id}</span>
              </Button>
            )}
          </li>
        ))}
        {shown.length < ids.length && (
          <li>
            <Button size="compact-xs" onClick={() => setIsWhole(true)}>
              {ids.length - shown.length} more
            </Button>
          </li>
        )}
      </ul>
    </>
  );
}

/** The deliveries as reporters may see them: their ids and states. */
function States({ incident }: { incident: IncidentDetail }): ReactNode {
  const { deliveries } = incident;
  return (
    <>
      <h3 className="caps below-8">DELIVERIES</h3>
      {deliveries.length > 0 && (
        <ul className="line-over below-16">
          {inUrgency(deliveries).map(({ id, status }) => (
            <li key={id} className={`grid line-under ${classes.delivery}`}>
              <StatusMark status={status} />
              <span>{id}</span>
              <CopyButton value={id} label="Copy the id of the delivery" />
            </li>
          ))}
        </ul>
      )}
      <p className="muted below-16">
        {countOf(deliveries.length, 'delivery', 'deliveries')}. Where they go, and why one fails, is
        for tokens with the scope webhooks:read.
      </p>
    </>
  );
}

function inUrgency<Row extends Pick<Delivery, 'status'>>(rows: readonly Row[]): readonly Row[] {
  const place = ({ status }: Row) => urgentFirst.indexOf(status);
  return [...rows].sort((a, b) => place(a) - place(b));
}
