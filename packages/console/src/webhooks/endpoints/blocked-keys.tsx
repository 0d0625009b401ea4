import type { ReactNode } from 'react';
import { api } from '../../api/client.ts';
import type { EndpointStory } from '../../api/types.ts';
import { useAct } from '../../ui/act.ts';
import { formatCount, visibleText } from '../../ui/format.ts';
import { FailingIcon } from '../../ui/icons.tsx';
import { LiveButton } from '../../ui/live-button.tsx';
import { Moment } from '../../ui/marks.tsx';
import { useSession } from '../../ui/session.ts';
import { notify } from '../../ui/toasts.tsx';
import { shortId } from '../../ui/words.ts';
import { endpointPath, webhooksKey } from '../query-keys.ts';
import { deliveryHref } from '../search.ts';
import { deliveryPath } from '../use-delivery.ts';
import classes from './endpoint-story.module.css';

type BlockedKey = EndpointStory['blocked'][number];

/** The keys of an ordered endpoint of which the first delivery has failed, so that the others wait. */
export function BlockedKeys({ id, keys }: { id: string; keys: readonly BlockedKey[] }): ReactNode {
  if (keys.length === 0) return null;
  return (
    <section aria-label="Blocked keys">
      <h3 className="caps below-8">BLOCKED KEYS</h3>
      <ul>
        {keys.map((blocked) => (
          <li key={blocked.key} className={`box below-12 ${classes.error}`}>
            <Blocked id={id} blocked={blocked} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Blocked({ id, blocked }: { id: string; blocked: BlockedKey }): ReactNode {
  const { key, delivery_id: first, waiting, since, status, next_retry: next, error } = blocked;
  const { hasScope } = useSession();
  const skip = useAct({
    call: () => api.post(`${endpointPath(id)}/skip`, { key }),
    onDone: () => notify({ text: `Skipped ${shortId(first)}: it stays a dead letter` }),
    failed: 'Not skipped',
    changes: webhooksKey,
  });
  const retry = useAct({
    call: () => api.post(`${deliveryPath(first)}/retry`, undefined),
    onDone: () => notify({ text: `Retry queued for ${shortId(first)}` }),
    failed: 'Not retried',
    changes: webhooksKey,
  });
  const isBusy = skip.isPending || retry.isPending;
  return (
    <>
      <p className="break">
        <span className="mark danger">
          <FailingIcon /> <strong>{visibleText(key)}</strong>
        </span>{' '}
        {formatCount(waiting.count)}
        {waiting.is_exact ? '' : '+'} waiting · blocked <Moment at={since} />
      </p>
      <p className="break muted">
        <a href={deliveryHref(first, id)}>the first</a>: {visibleText(error ?? 'failed')}
        {status === 'abandoned' ? ', abandoned' : ', again '}
        {status === 'pending' && <Moment at={next} />}
      </p>
      {hasScope('deliveries:retry') && (
        <p className="row gap-8">
          <LiveButton size="compact-xs" disabled={isBusy} onClick={() => retry.mutate()}>
            RETRY
          </LiveButton>
          <LiveButton
            size="compact-xs"
            disabled={isBusy}
            title="Abandons the first, and lets the next go"
            onClick={() => skip.mutate()}
          >
            SKIP
          </LiveButton>
        </p>
      )}
    </>
  );
}
