import type { ReactNode } from 'react';
import type { DeliveryHours, Endpoint } from '../api/types.ts';
import classes from './endpoint-health.module.css';
import { AbandonedIcon, FailingIcon, OkIcon, RunningIcon } from './icons.tsx';

/** How an endpoint fares, in one word. */
export type Health = 'ok' | 'degraded' | 'failing' | 'disabled';

/**
 * An endpoint is failing when it is paused because its attempts failed, and degraded when the last one failed, or more
 * than one in twenty of this hour and the one before.
 */
export function healthOf({
  enabled,
  breaker,
  hours,
}: Pick<Endpoint, 'enabled' | 'breaker' | 'hours'>): Health {
  if (!enabled) return 'disabled';
  if (breaker.state !== 'closed') return 'failing';
  return breaker.failures_in_row > 0 || isUnsteady(hours) ? 'degraded' : 'ok';
}

function isUnsteady(hours: DeliveryHours | undefined): boolean {
  if (hours === undefined) return false;
  const recent = (numbers: readonly number[]) => (numbers.at(-1) ?? 0) + (numbers.at(-2) ?? 0);
  const bad = recent(hours.failed) + recent(hours.abandoned);
  return bad > (bad + recent(hours.delivered)) / 20;
}

/** The number of deliveries of an endpoint that are queued or pending: `1,204`, or `10,000+`. */
export function backlogText({ count, is_exact: isExact }: Endpoint['backlog']): string {
  return `${count.toLocaleString('en-US')}${isExact ? '' : '+'}`;
}

const healthIcons = {
  ok: OkIcon,
  degraded: RunningIcon,
  failing: FailingIcon,
  disabled: AbandonedIcon,
} as const;

/** How an endpoint fares, as a word with a shape and a colour. */
export function EndpointHealth({ endpoint }: { endpoint: Endpoint }): ReactNode {
  const health = healthOf(endpoint);
  const Icon = healthIcons[health];
  return (
    <span className={classes.health} data-health={health}>
      <Icon />
      {health}
      {health === 'disabled' && whyDisabled(endpoint)}
    </span>
  );
}

function whyDisabled({ backlog, disabled_reason: reason }: Endpoint): string {
  if (backlog.is_discarding) return ': discards its backlog';
  if (reason === 'failing') return ': failed for days';
  return reason === 'gone' ? ': gone (410)' : '';
}
