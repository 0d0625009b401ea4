import type { RouteAnswer } from '../client.ts';
import { formatCount, formatInstant, formatNumberOf, formatRelative } from '../format.ts';

export type Endpoint = RouteAnswer<'GET /webhook/endpoints/:id'>;

export const endpointFields = [
  'id',
  'tenant',
  'url',
  'description',
  'event_types',
  'health',
  'enabled',
  'disabled_reason',
  'disabled_at',
  'disabled_by',
  'max_attempts',
  'retry_schedule',
  'rate_limit',
  'disable_after_days',
  'failing_since',
  'breaker',
  'backlog',
  'previous_secret_until',
  'created_at',
  'updated_at',
] as const satisfies readonly (keyof Endpoint)[];

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

/** An endpoint as `name value` rows. */
export function endpointRows(
  endpoint: Endpoint,
  nowMillis: number,
): readonly (readonly [string, string | null])[] {
  const { breaker, retry_schedule, rate_limit, max_attempts, previous_secret_until } = endpoint;
  const { disabled_at, disabled_by } = endpoint;
  const by = disabled_by === null ? '' : ` by ${disabled_by}`;
  return [
    ['id', endpoint.id],
    ['tenant', endpoint.tenant],
    ['url', endpoint.url],
    ['description', endpoint.description],
    ['events', endpoint.event_types.join(', ')],
    ['state', stateOf(endpoint, nowMillis)],
    ...(disabled_at === null
      ? []
      : [['disabled', `since ${formatInstant(disabled_at)} UTC${by}`] as const]),
    ['backlog', backlogOf(endpoint)],
    ['failures in row', String(breaker.failures_in_row)],
    ...(endpoint.throttled_until === null
      ? []
      : [['throttled until', `${formatInstant(endpoint.throttled_until)} UTC`] as const]),
    ...(endpoint.failing_since === null
      ? []
      : [['failing since', `${formatInstant(endpoint.failing_since)} UTC`] as const]),
    ['max attempts', max_attempts === null ? 'default' : String(max_attempts)],
    ['retry schedule', retry_schedule === null ? 'default' : `${retry_schedule.join(', ')} s`],
    [
      'disabled after',
      endpoint.disable_after_days === null
        ? 'never'
        : `${formatNumberOf(endpoint.disable_after_days, 'day')} of failures`,
    ],
    ['rate limit', rate_limit === null ? 'none' : `${rate_limit} a second`],
    ...(previous_secret_until === null
      ? []
      : [['old secrets until', `${formatInstant(previous_secret_until)} UTC`] as const]),
    ['created', `${formatInstant(endpoint.created_at)} UTC`],
    ['updated', `${formatInstant(endpoint.updated_at)} UTC`],
  ];
}
