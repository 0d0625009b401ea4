import type { ReactNode } from 'react';
import type { Endpoint } from '../api/types.ts';
import { AbandonedIcon, FailingIcon, OkIcon, RunningIcon } from './icons.tsx';

/** The number of deliveries of an endpoint that are queued or pending: `1,204`, or `10,000+`. */
export function backlogText({ count, is_exact: isExact }: Endpoint['backlog']): string {
  return `${count.toLocaleString('en-US')}${isExact ? '' : '+'}`;
}

const marks = {
  ok: [OkIcon, 'ok'],
  degraded: [RunningIcon, 'warn'],
  failing: [FailingIcon, 'danger'],
  gone: [AbandonedIcon, 'muted'],
  disabled: [AbandonedIcon, 'muted'],
} as const;

/** How an endpoint fares, as a word with a shape and a colour. */
export function EndpointHealth({ endpoint }: { endpoint: Endpoint }): ReactNode {
  const { health } = endpoint;
  const [Icon, tone] = marks[health];
  return (
    <span className={`word-mark ${tone}`} data-health={health}>
      <Icon />
      {health}
      {whyDisabled(endpoint)}
    </span>
  );
}

function whyDisabled(endpoint: Endpoint): string {
  const { backlog, enabled, disabled_reason: reason, disabled_by: by } = endpoint;
  if (enabled) return '';
  if (backlog.is_discarding) return ': discards its backlog';
  if (reason === 'failing') return ': failed for days';
  if (reason === 'operator' && by !== null) return ` by ${by}`;
  return reason === 'gone' ? ' (410)' : '';
}
