import { Button } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { api } from '../../api/client.ts';
import type {
  Endpoint,
  EndpointWithSecret,
  PingedDelivery,
  ToldEndpoint,
} from '../../api/types.ts';
import { changedBut, useAct, useCloseWithSecret } from '../../ui/act.ts';
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx';
import { backlogText, shownTarget } from '../../ui/endpoint.tsx';
import { copied, Facts } from '../../ui/facts.tsx';
import { visibleText } from '../../ui/format.ts';
import { Loaded, SkeletonRows } from '../../ui/list.tsx';
import { LiveButton } from '../../ui/live-button.tsx';
import { Instant } from '../../ui/marks.tsx';
import { Panel, PanelBody } from '../../ui/panel.tsx';
import { useRead } from '../../ui/poll.tsx';
import { useSession } from '../../ui/session.ts';
import { notify } from '../../ui/toasts.tsx';
import { countOf } from '../../ui/words.ts';
import { endpointPath, endpointsKey, webhooksKey } from '../query-keys.ts';
import { ReplayButton } from '../replays/replay-dialog.tsx';
import { deliveryHref, newEndpoint } from '../search.ts';
import { BlockedKeys } from './blocked-keys.tsx';
import { deliveryFacts } from './delivery-fields.ts';
import { EnableButton, waitText } from './enable-button.tsx';
import { EndpointForm, SecretDialog } from './endpoint-form.tsx';
import { Standing, Story } from './endpoint-story.tsx';
import { Polled } from './polled.tsx';

type EndpointDrawerProps = {
  /** Id of the endpoint, or `new`. */
  id: string;
  /** The endpoint as the list has it, shown until it is read. */
  known: Endpoint | undefined;
  /** The tenant by which the list is filtered, as a start for a new endpoint. */
  tenant: string | undefined;
  onClose: () => void;
  onMade: (id: string) => void;
};

/** The drawer of one endpoint: why it fails and how it fared, what can be done with it, and behind EDIT its settings. */
export function EndpointDrawer(props: EndpointDrawerProps): ReactNode {
  const { id, known, onClose } = props;
  const { hasScope } = useSession();
  const isNew = id === newEndpoint;
  const [secret, setSecret] = useState<EndpointWithSecret | null>(null);
  const [edited, setEdited] = useState<string | null>(null);
  const isEditing = isNew || edited === id;
  const query = useRead<ToldEndpoint>([...endpointsKey, 'one', id], endpointPath(id), {
    isWanted: !isNew,
    known,
    params: { include: 'story' },
  });
  const endpoint = query.data;
  const closeSecret = () => {
    setSecret(null);
    if (isNew && secret !== null) props.onMade(secret.id);
  };
  return (
    <Panel
      kind={isNew ? 'NEW ENDPOINT' : 'ENDPOINT'}
      title={endpoint === undefined ? (isNew ? '' : id) : shownTarget(endpoint)}
      id={id}
      closeLabel="Close endpoint"
      onClose={useCloseWithSecret(onClose)}
    >
      {endpoint !== undefined && hasScope('endpoints:manage') && (
        <EndpointActions
          endpoint={endpoint}
          isEditing={isEditing}
          onEdit={() => setEdited(isEditing ? null : id)}
          onSecret={setSecret}
          onDeleted={onClose}
        />
      )}
      <PanelBody label={isNew ? 'The endpoint to make' : 'The endpoint'}>
        {!isEditing && endpoint !== undefined && (
          <>
            <Standing endpoint={endpoint} />
            {endpoint.story?.polled && <Polled id={id} polled={endpoint.story.polled} />}
            <BlockedKeys id={id} keys={endpoint.story?.blocked ?? []} />
            {endpoint.story === undefined ? (
              query.isPlaceholderData && <SkeletonRows rows={8} label="Loading how it fared" />
            ) : (
              <Story id={id} story={endpoint.story} />
            )}
            <h3 className="caps below-8">SETTINGS</h3>
            <EndpointFacts endpoint={endpoint} />
          </>
        )}
        {/* The list hides the query of a URL, so the form waits until the endpoint is read. */}
        {isEditing && (isNew || (endpoint !== undefined && !query.isPlaceholderData)) && (
          <EndpointForm endpoint={endpoint} tenant={props.tenant} onMade={setSecret} />
        )}
        {!isNew && (
          <Loaded query={query} name="the endpoint" rows={12}>
            {() => null}
          </Loaded>
        )}
      </PanelBody>
      <SecretDialog endpoint={secret} onClose={closeSecret} />
    </Panel>
  );
}

/** Since when incidents were held back, because too much waits. REPLAY sends them. */
function HeldBack({ since, until }: NonNullable<Endpoint['held_back']>): ReactNode {
  if (until === null) {
    return (
      <>
        since <Instant at={since} />: too much waits
      </>
    );
  }
  return (
    <>
      <Instant at={since} /> to <Instant at={until} />: not replayed yet
    </>
  );
}

function EndpointFacts({ endpoint }: { endpoint: Endpoint }): ReactNode {
  const { previous_secret_until: previous, retry_schedule: schedule, rate_limit: rate } = endpoint;
  const { max_attempts: attempts, disable_after_days: days } = endpoint;
  const isPolled = endpoint.type === 'pull';
  return (
    <Facts
      facts={{
        tenant: endpoint.tenant,
        url: isPolled ? undefined : copied(endpoint.url),
        'held back': endpoint.held_back === null ? undefined : <HeldBack {...endpoint.held_back} />,
        uid: endpoint.uid === null ? undefined : copied(endpoint.uid),
        labels:
          Object.entries(endpoint.labels)
            .map(([name, value]) => `${name}=${value}`)
            .join(', ') || undefined,
        description: endpoint.description ?? undefined,
        'event types': endpoint.event_types.includes('*') ? 'all' : endpoint.event_types.join(', '),
        stores: endpoint.stores?.join(', '),
        filter: endpoint.where ?? undefined,
        ...(!isPolled && {
          attempts: attempts ?? 'as many as the service is set to',
          'retry schedule': schedule === null ? 'the default' : `${schedule.join(', ')} s`,
          rate: rate === null ? 'no limit' : `${rate} a second at most`,
          'disabled after': days === null ? 'never' : `${countOf(days, 'day')} of failures`,
        }),
        ...deliveryFacts(endpoint.delivery),
        order:
          endpoint.ordered === 'none'
            ? undefined
            : `by ${endpoint.ordered}; what is abandoned ${endpoint.when_stuck === 'block' ? 'blocks the others' : 'lets the next go'}`,
        headers: endpoint.header_names.join(', ') || undefined,
        id: copied(endpoint.id),
        created: <Instant at={endpoint.created_at} />,
        'old secrets sign until': previous !== null ? <Instant at={previous} /> : undefined,
      }}
    />
  );
}

type EndpointActionsProps = {
  endpoint: Endpoint;
  isEditing: boolean;
  /** Shows the settings instead of how it fared, or that again. */
  onEdit: () => void;
  onSecret: (endpoint: EndpointWithSecret) => void;
  onDeleted: () => void;
};

const shownResponse = 80;

/** What came of a ping: the status or the error, how long it took, and how the answer began. */
function pingText(url: string, outcome: PingedDelivery['outcome']): string {
  if (outcome === null) return 'The ping waits: the receiver gets it with its next poll';
  const { status, error, duration_ms, response } = outcome;
  const what = error === null ? `answered ${status}` : `failed: ${error}`;
  const start = visibleText(response ?? '').trim();
  const told = start.length > shownResponse ? `${start.slice(0, shownResponse)}…` : start;
  return `Ping to ${url} ${what}, in ${duration_ms} ms${told === '' ? '' : `: ${told}`}`;
}

type Question = 'rotate' | 'endOld' | 'delete';

/** The buttons that ping, enable, rotate the secret of and delete the endpoint. All but the ping may ask first. */
function EndpointActions(props: EndpointActionsProps): ReactNode {
  const { endpoint } = props;
  const { hasScope } = useSession();
  const mayDiscard = hasScope('webhooks:manage');
  const path = endpointPath(endpoint.id);
  const [question, setQuestion] = useState<Question | null>(null);
  const ping = useAction(
    () => api.post<PingedDelivery>(`${path}/ping`, undefined),
    ({ id, outcome }) => {
      const href = deliveryHref(id, endpoint.id);
      notify({ text: pingText(endpoint.url, outcome), href, linkText: 'follow it' });
    },
  );
  const rotate = useAct({
    call: () => api.post<EndpointWithSecret>(`${path}/rotate-secret`, undefined),
    onDone: props.onSecret,
    failed: 'Not done',
    hasSecret: true,
    changes: webhooksKey,
  });
  const endOld = useAction(
    () => api.post<Endpoint>(`${path}/end-old-secrets`, undefined),
    () => notify({ text: 'Only the present secret signs now' }),
  );
  const remove = useAction(
    () => api.delete(path),
    () => {
      notify({ text: `Deleted ${shownTarget(endpoint)}` });
      props.onDeleted();
    },
    endpoint.id,
  );
  const answers = { rotate, endOld, delete: remove };
  return (
    <div className="drawer-actions" data-many>
      <Button
        loading={ping.isPending}
        disabled={!endpoint.enabled}
        title={endpoint.enabled ? 'Sends an event of type webhook.ping now' : 'Enable it first'}
        onClick={() => ping.mutate()}
      >
        Ping
      </Button>
      <Button aria-pressed={props.isEditing} onClick={props.onEdit}>
        {props.isEditing ? 'Close settings' : 'Edit'}
      </Button>
      <EnableButton endpoint={endpoint} />
      {hasScope('deliveries:retry') && <ReplayButton endpoint={endpoint} />}
      <Button loading={rotate.isPending} onClick={() => setQuestion('rotate')}>
        Rotate secret…
      </Button>
      {endpoint.previous_secret_until !== null && (
        <Button loading={endOld.isPending} onClick={() => setQuestion('endOld')}>
          End old secrets…
        </Button>
      )}
      {mayDiscard && (
        <LiveButton
          className="danger push"
          loading={remove.isPending}
          onClick={() => setQuestion('delete')}
        >
          Delete…
        </LiveButton>
      )}
      {question !== null && (
        <Confirmation
          question={question}
          endpoint={endpoint}
          onYes={() => answers[question].mutate()}
          onClose={() => setQuestion(null)}
        />
      )}
    </div>
  );
}

type ConfirmationProps = {
  question: Question;
  endpoint: Endpoint;
  onYes: () => void;
  onClose: () => void;
};

/** Asks before the secret or the endpoint goes. */
function Confirmation(props: ConfirmationProps): ReactNode {
  const { question, endpoint, onYes, onClose } = props;
  const { text, answer, ...words } = questions[question];
  const { data } = useRead<{ total: number | null }>(
    [...webhooksKey, 'abandoned', endpoint.id],
    '/webhook/dlq',
    {
      params: { status: 'abandoned', endpoint_id: endpoint.id, limit: 1 },
      isFresh: true,
      isWanted: question === 'delete',
    },
  );
  const abandoned = data?.total ?? 0;
  return (
    <ConfirmDialog {...words} answer={answer(endpoint, abandoned)} onYes={onYes} onClose={onClose}>
      <p>{text(endpoint, abandoned)}</p>
    </ConfirmDialog>
  );
}

type QuestionWords = {
  title: string;
  /** `abandoned`: how many dead letters go with it. */
  answer: (endpoint: Endpoint, abandoned: number) => string;
  text: (endpoint: Endpoint, abandoned: number) => string;
};

const questions: Readonly<Record<Question, QuestionWords>> = {
  rotate: {
    title: 'Give it a new secret?',
    answer: () => 'Rotate secret',
    text: () =>
      'For 24 hours deliveries are signed with the old secret as well. The new one shows once.',
  },
  endOld: {
    title: 'End its old secrets?',
    answer: () => 'End them',
    text: () =>
      'Only the present secret signs from now on. A receiver that does not know it refuses what comes.',
  },
  delete: {
    title: 'Delete this endpoint?',
    answer: ({ backlog }, abandoned) => {
      const all = { ...backlog, count: backlog.count + abandoned };
      return all.count === 0 ? 'Delete' : `Delete, and discard ${backlogText(all)}`;
    },
    text: ({ backlog, ...endpoint }, abandoned) =>
      `${waitText(backlog)} for ${endpoint.type === 'pull' ? endpoint.id : endpoint.url}${abandoned === 0 ? '' : `, and ${countOf(abandoned, 'dead letter')} of it ${abandoned === 1 ? 'is' : 'are'} abandoned`}. What was not delivered is discarded: that cannot be undone.`,
  },
};

/** A call that changes the endpoint. `goneId`: it is deleted, so the drawer must not read it again. */
function useAction<T, Given = void>(
  call: (given: Given) => Promise<T>,
  onDone: (answer: T) => void,
  goneId: string | null = null,
) {
  return useAct({ call, onDone, failed: 'Not done', changes: changedBut(webhooksKey, goneId) });
}
