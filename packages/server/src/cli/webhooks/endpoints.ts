import { formatCount, numberOf } from '../../kernel/values.ts';
import type { RouteAnswer } from '../client.ts';
import { type Facts, utc, whereAny } from '../details.ts';
import { formatRelative } from '../format.ts';

export type Endpoint = RouteAnswer<'GET /webhook/endpoints/:id'>;

const disabledTexts = {
  operator: 'disabled',
  gone: 'disabled (410 Gone)',
  failing: 'disabled (failed for days)',
} as const;

/** Whether deliveries are sent to an endpoint now, and if not, why. */
export function stateOf(
  { enabled, disabled_reason, breaker, health }: Endpoint,
  nowMillis: number,
): string {
  if (!enabled) return disabledTexts[disabled_reason ?? 'operator'];
  switch (breaker.state) {
    case 'closed':
      return health === 'degraded' ? 'degraded' : 'enabled';
    case 'probing':
      return 'probing';
    case 'open':
      return `paused, again ${formatRelative(breaker.paused_until, nowMillis)}`;
  }
}

/** How many deliveries of an endpoint are queued or pending: `1,204`, or `10,000+`. */
export function backlogOf({ backlog }: Pick<Endpoint, 'backlog'>): string {
  const { count, is_exact, is_discarding } = backlog;
  return `${formatCount(count)}${is_exact ? '' : '+'}${is_discarding ? ', being discarded' : ''}`;
}

/** All that is told of an endpoint. */
export function endpointFacts(endpoint: Endpoint, nowMillis: number): Facts {
  const { breaker, retry_schedule, rate_limit, max_attempts, disable_after_days } = endpoint;
  const { disabled_at, disabled_by, throttled_until, failing_since } = endpoint;
  const by = disabled_by === null ? '' : ` by ${disabled_by}`;
  const until = endpoint.previous_secret_until;
  return [
    ['id', endpoint.id],
    ['tenant', endpoint.tenant],
    ['url', endpoint.url],
    ['description', endpoint.description],
    ['events', endpoint.event_types.join(', ')],
    ...whereAny('stores', endpoint.stores?.join(', ') ?? null),
    ...whereAny('where', endpoint.where),
    ['state', stateOf(endpoint, nowMillis)],
    ...whereAny('disabled', disabled_at && `since ${utc(disabled_at)}${by}`),
    ['backlog', backlogOf(endpoint)],
    ['failures in row', String(breaker.failures_in_row)],
    ...whereAny('throttled until', throttled_until && utc(throttled_until)),
    ...whereAny('failing since', failing_since && utc(failing_since)),
    ['max attempts', max_attempts === null ? 'default' : String(max_attempts)],
    ['retry schedule', retry_schedule === null ? 'default' : `${retry_schedule.join(', ')} s`],
    [
      'disabled after',
      disable_after_days === null ? 'never' : `${numberOf(disable_after_days, 'day')} of failures`,
    ],
    ...whereAny('headers', endpoint.header_names.join(', ') || null),
    ['rate limit', rate_limit === null ? 'none' : `${rate_limit} a second`],
    ...whereAny('old secrets until', until && utc(until)),
    ['created', utc(endpoint.created_at)],
    ['updated', utc(endpoint.updated_at)],
  ];
}
