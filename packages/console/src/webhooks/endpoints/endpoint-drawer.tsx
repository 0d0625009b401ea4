import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { api } from '../../api/client.ts';
import type { Endpoint, EndpointWithSecret } from '../../api/types.ts';
import { CopyButton } from '../../ui/copy-button.tsx';
import drawerClasses from '../../ui/drawer.module.css';
import { DrawerShell } from '../../ui/drawer-shell.tsx';
import { formatInstant } from '../../ui/format.ts';
import { FailurePanel, useFailure, usePolling } from '../../ui/freshness.tsx';
import { pollMillis } from '../../ui/poll.tsx';
import { SkeletonRows } from '../../ui/skeleton.tsx';
import { backlogText } from '../../ui/words.ts';
import { useZone, zoneName } from '../../ui/zone-switch.tsx';
import { endpointsKey } from '../delivery/use-delivery.ts';
import { newEndpoint } from '../search.ts';
import { Breaker, EndpointState } from './columns.tsx';
import { EndpointActions } from './endpoint-actions.tsx';
import { EndpointForm, SecretDialog } from './endpoint-form.tsx';

export type EndpointDrawerProps = {
  /** Of the endpoint, or `new`. */
  id: string;
  /** As the list has it, until it is read. */
  known: Endpoint | undefined;
  /** For a new one, what the list is filtered by. */
  tenant: string | undefined;
  onClose: () => void;
  onMade: (id: string) => void;
};

/** One endpoint: how it stands, what can be done with it, and its settings. */
export function EndpointDrawer(props: EndpointDrawerProps): ReactNode {
  const { id, known, onClose } = props;
  const isNew = id === newEndpoint;
  const [secret, setSecret] = useState<EndpointWithSecret | null>(null);
  const query = useQuery<Endpoint>({
    queryKey: [...endpointsKey, 'one', id],
    enabled: !isNew,
    refetchInterval: usePolling(pollMillis),
    placeholderData: () => known,
    queryFn: ({ signal }) =>
      api.get<Endpoint>(`/webhook/endpoints/${encodeURIComponent(id)}`, {}, signal),
  });
  const failure = useFailure(query);
  const endpoint = query.data;
  const closeSecret = () => {
    setSecret(null);
    if (isNew && secret !== null) props.onMade(secret.id);
  };
  return (
    <DrawerShell
      kind={isNew ? 'NEW ENDPOINT' : 'ENDPOINT'}
      title={isNew ? '' : id}
      id={id}
      closeLabel="Close endpoint"
      onClose={onClose}
    >
      {endpoint !== undefined && (
        <EndpointActions endpoint={endpoint} onSecret={setSecret} onDeleted={onClose} />
      )}
      <div className={drawerClasses.body}>
        {endpoint !== undefined && <Facts endpoint={endpoint} />}
        {(isNew || endpoint !== undefined) && (
          <EndpointForm endpoint={endpoint} tenant={props.tenant} onMade={setSecret} />
        )}
        {!isNew && endpoint === undefined && failure === null && (
          <SkeletonRows rows={12} label="Loading the endpoint" />
        )}
        {!isNew && endpoint === undefined && failure !== null && (
          <FailurePanel error={failure} onRetry={() => void query.refetch()} />
        )}
      </div>
      <SecretDialog endpoint={secret} onClose={closeSecret} />
    </DrawerShell>
  );
}

function Facts({ endpoint }: { endpoint: Endpoint }): ReactNode {
  const [zone] = useZone();
  const when = (at: string) => `${formatInstant(at, zone).slice(0, 19)} ${zoneName(zone)}`;
  return (
    <dl className={drawerClasses.fields}>
      <div>
        <dt>state</dt>
        <dd>
          <EndpointState endpoint={endpoint} />
        </dd>
      </div>
      <div>
        <dt>breaker</dt>
        <dd>
          <Breaker endpoint={endpoint} />
        </dd>
      </div>
      {endpoint.disabled_at !== null && (
        <div>
          <dt>disabled since</dt>
          <dd>
            {when(endpoint.disabled_at)}
            {endpoint.disabled_by !== null && ` by ${endpoint.disabled_by}`}
          </dd>
        </div>
      )}
      <div>
        <dt>backlog</dt>
        <dd>{backlogText(endpoint.backlog)} queued or pending</dd>
      </div>
      <div>
        <dt>id</dt>
        <dd>
          {endpoint.id}
          <CopyButton value={endpoint.id} label="Copy the id" />
        </dd>
      </div>
      <div>
        <dt>created</dt>
        <dd>{when(endpoint.created_at)}</dd>
      </div>
      {endpoint.previous_secret_until !== null && (
        <div>
          <dt>old secrets sign until</dt>
          <dd>{when(endpoint.previous_secret_until)}</dd>
        </div>
      )}
    </dl>
  );
}
