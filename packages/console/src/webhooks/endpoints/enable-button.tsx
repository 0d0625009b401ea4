import { Button } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { api } from '../../api/client.ts';
import type { Endpoint } from '../../api/types.ts';
import { useAct } from '../../ui/act.ts';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { backlogText, shownTarget } from '../../ui/endpoint.tsx';
import { useSession } from '../../ui/session.ts';
import { notify } from '../../ui/toasts.tsx';
import { endpointPath, webhooksKey } from '../query-keys.ts';

/** Enables an endpoint, or disables it. Where something waits for one that is disabled, it asks what becomes of that. */
export function EnableButton(props: {
  endpoint: Endpoint;
  /** The tab index in a row of the list, where the button is small. */
  tabIndex?: number;
}): ReactNode {
  const { endpoint, tabIndex } = props;
  const path = endpointPath(endpoint.id);
  const [isAsking, setAsking] = useState(false);
  const told = { failed: 'Not done', changes: webhooksKey };
  const enable = useAct({
    call: (wanted: boolean) => api.patch<Endpoint>(path, { enabled: wanted }),
    onDone: ({ enabled }) =>
      notify({ text: `${enabled ? 'Enabled' : 'Disabled'} ${shownTarget(endpoint)}` }),
    ...told,
  });
  const discard = useAct({
    call: () => api.post<Endpoint>(`${path}/discard-backlog`, undefined),
    onDone: ({ enabled }) => {
      const done = enabled ? 'Discarded its backlog, enabled' : 'Discarding the backlog of';
      notify({ text: `${done} ${shownTarget(endpoint)}` });
    },
    ...told,
  });
  const mayDiscard = useSession().hasScope('webhooks:manage');
  const isAsked = mayDiscard && !endpoint.enabled && endpoint.backlog.count > 0;
  const text = endpoint.enabled ? 'Disable' : isAsked ? 'Enable…' : 'Enable';
  return (
    <>
      <Button
        {...(tabIndex !== undefined && { size: 'compact-xs', tabIndex })}
        loading={enable.isPending || discard.isPending}
        onClick={() => (isAsked ? setAsking(true) : enable.mutate(!endpoint.enabled))}
      >
        {text}
      </Button>
      {isAsking && (
        <ConfirmDialog
          title="Enable this endpoint?"
          keep="Keep it as it is"
          answer={`Enable and discard ${backlogText(endpoint.backlog)}`}
          safe={{ answer: 'Enable and deliver', onYes: () => enable.mutate(true) }}
          onYes={() => discard.mutate()}
          onClose={() => setAsking(false)}
        >
          <p>
            {waitText(endpoint.backlog)} for it. {goes[endpoint.type]}, unless you discard them:
            that cannot be undone.
          </p>
        </ConfirmDialog>
      )}
    </>
  );
}

const goes = {
  push: 'They are sent as fast as its rate and its receiver allow',
  pull: 'Its receiver fetches them',
} as const;

/** How many deliveries wait, as a clause: `1 delivery waits`. */
export function waitText(backlog: Endpoint['backlog']): string {
  if (backlog.count === 0) return 'Nothing waits';
  return backlog.count === 1 ? '1 delivery waits' : `${backlogText(backlog)} deliveries wait`;
}
