import { formatCount, numberOf } from '../../kernel/values.ts';
import { failureWords } from '../../webhooks/delivery/values.ts';
import type { RouteAnswer } from '../client.ts';
import type { Context } from '../context.ts';
import { type Facts, moment, section, type Times, whereAny } from '../details.ts';
import { formatDuration, formatRelative, formatShare, shellQuote } from '../format.ts';
import { fitText, printable } from '../table.ts';
import { deliveryFacts } from './delivery-settings.ts';

export type Endpoint = RouteAnswer<'GET /webhook/endpoints/:id'>;

const disabledTexts = {
  operator: 'disabled',
  gone: 'disabled (410 Gone)',
  failing: 'disabled (failed for days)',
} as const;

/** Whether deliveries are sent to an endpoint now, and if not, why. */
export function stateOf(
  { enabled, disabled_reason, breaker, health, type }: Endpoint,
  nowMillis: number,
): string {
  if (!enabled) return disabledTexts[disabled_reason ?? 'operator'];
  if (type === 'pull') return health === 'unpolled' ? 'waits for its poller' : 'polled';
  switch (breaker.state) {
    case 'closed':
      return health === 'degraded' ? 'degraded' : 'enabled';
    case 'probing':
      return 'probing';
    case 'open':
      return `paused, again ${formatRelative(breaker.paused_until, nowMillis)}`;
  }
}

/** How many deliveries of an endpoint are queued or pending: `1,204`, or `10,000+`, and whether others were held back. */
export function backlogOf({ backlog, held_back }: Pick<Endpoint, 'backlog' | 'held_back'>): string {
  const { count, is_exact, is_discarding } = backlog;
  const more = [...(is_discarding ? ['being discarded'] : []), ...(held_back ? ['held back'] : [])];
  return [`${formatCount(count)}${is_exact ? '' : '+'}`, ...more].join(', ');
}

/** Since when incidents were held back from an endpoint; null when none were. */
function heldBackOf({ id, held_back: held }: Endpoint, { at }: Times): string | null {
  if (held === null) return null;
  const replay = `svcctl endpoints replay ${id} --since ${held.since}`;
  return held.until === null
    ? `since ${at(held.since)}, because too much waits`
    : `from ${at(held.since)} to ${at(held.until)}: ${replay} sends it`;
}

/** All that is told of an endpoint: how it fares, and then how it is set. */
export function endpointFacts(endpoint: Endpoint, times: Times): Facts {
  const { at, nowMillis } = times;
  const { breaker, retry_schedule, rate_limit, max_attempts, disable_after_days } = endpoint;
  const { disabled_at, disabled_by, throttled_until, failing_since } = endpoint;
  const by = disabled_by === null ? '' : ` by ${disabled_by}`;
  const until = endpoint.previous_secret_until;
  // What tells how it is sent to says nothing of one that is polled.
  const sent = (facts: Facts) => (endpoint.type === 'pull' ? [] : facts);
  return [
    ['id', endpoint.id],
    ['tenant', endpoint.tenant],
    ['url', endpoint.url],
    ...whereAny('last error', endpoint.story && lastErrorOf(endpoint.story, nowMillis)),
    ['state', stateOf(endpoint, nowMillis)],
    ...whereAny('disabled', disabled_at && `since ${at(disabled_at)}${by}`),
    ['backlog', backlogOf(endpoint)],
    ...whereAny('held back', heldBackOf(endpoint, times)),
    ...(endpoint.story === undefined ? [] : storyFacts(endpoint.story, times)),
    ...sent([['failures in row', String(breaker.failures_in_row)]]),
    ...whereAny('throttled until', throttled_until && at(throttled_until)),
    ...whereAny('failing since', failing_since && at(failing_since)),
    ['description', endpoint.description],
    ...whereAny('uid', endpoint.uid),
    ...whereAny('name', endpoint.name),
    ...whereAny(
      'labels',
      Object.entries(endpoint.labels ?? {})
        .map(([name, value]) => `${name}=${value}`)
        .join(', ') || null,
    ),
    ['events', endpoint.event_types.join(', ')],
    ...whereAny('stores', endpoint.stores?.join(', ') ?? null),
    ...whereAny('where', endpoint.where),
    ...sent([
      ['max attempts', max_attempts === null ? 'default' : String(max_attempts)],
      ['retry schedule', retry_schedule === null ? 'default' : `${retry_schedule.join(', ')} s`],
      [
        'disabled after',
        disable_after_days === null
          ? 'never'
          : `${numberOf(disable_after_days, 'day')} of failures`,
      ],
    ]),
    ...whereAny('headers', endpoint.header_names.join(', ') || null),
    ...deliveryFacts(endpoint.delivery, times),
    ...whereAny('ordered', endpoint.ordered === 'none' ? null : orderedOf(endpoint)),
    ...sent([['rate limit', rate_limit === null ? 'none' : `${rate_limit} a second`]]),
    ...whereAny('old secrets until', until && at(until)),
    ['created', at(endpoint.created_at)],
    ['updated', at(endpoint.updated_at)],
  ];
}

const orderedOf = ({ ordered, when_stuck: rule }: Endpoint) =>
  `by ${ordered}; what is abandoned ${rule === 'block' ? 'blocks the others' : 'lets the next go'}`;

type Story = NonNullable<Endpoint['story']>;
type Attempt = Story['attempts'][number];

/** The last error in words, where it is to be seen, and how its answer began. */
function lastErrorOf({ last_error: last, attempts }: Story, nowMillis: number): string {
  if (last === null && attempts.length === 0) return 'none: no attempt is remembered';
  if (last === null) return 'none: its newest attempts were delivered, and it has no dead letter';
  const answer = last.answer === null || last.answer.trim() === '' ? '' : `: ${last.answer.trim()}`;
  const told = fitText(printable(`${outcomeOf(last)}${answer}`), 200);
  return `${formatRelative(last.at, nowMillis)}, ${told} · svcctl dlq show ${last.delivery_id}`;
}

/** What came of an attempt: `204 delivered`, or why not. */
function outcomeOf({
  status,
  failure_class,
  error,
}: Pick<Attempt, 'status' | 'failure_class' | 'error'>) {
  if (failure_class === null) return `${status} delivered`;
  return `${error ?? 'failed'} (${failureWords[failure_class]})`;
}

function storyFacts(story: Story, times: Times): Facts {
  const { oldest_waiting: oldest, dead_letters: dead, polled } = story;
  return [
    ...story.periods.map((period) => [periodName(period), periodText(period)] as const),
    [
      'oldest waiting',
      oldest && `since ${moment(oldest.since, times)}${oldest.is_exact ? '' : ', or longer'}`,
    ],
    // A service of the release before does not know it.
    ...(polled ? polledFacts(polled, times) : []),
    [
      'dead letters',
      dead
        .map(
          ({ status, failure_class, count }) =>
            `${formatCount(count)} ${status} (${failureWords[failure_class]})`,
        )
        .join(', ') || 'none',
    ],
  ];
}

/** Who fetched last what waits, and what is not acknowledged. */
function polledFacts(polled: NonNullable<Story['polled']>, times: Times): Facts {
  const { polled_at: at, polled_by: by, handed_out: count, handed_out_since: since } = polled;
  const who = by === null ? '' : ` by ${by}`;
  const sinceWhen = since === null ? '' : ` since ${moment(since, times)}`;
  return [
    ['last poll', at === null ? 'none yet' : `${moment(at, times)}${who}`],
    ['handed out', count === 0 ? 'nothing' : `${formatCount(count)}${sinceWhen}, not acknowledged`],
  ];
}

type Period = Story['periods'][number];

const periodName = ({ hours }: Period) => (hours === 24 ? '24 h' : `${hours / 24} d`);

/** `99 % of 1,204 attempts delivered, answers within 20 ms (p50), 70 ms (p95), 300 ms (p99)`. */
function periodText(period: Period): string {
  const { attempts, success_share: share, p50_ms, p95_ms, p99_ms } = period;
  if (attempts === 0) return 'no attempt';
  const times = [
    ['p50', p50_ms],
    ['p95', p95_ms],
    ['p99', p99_ms],
  ] as const;
  const told = times.flatMap(([name, millis]) =>
    millis === null ? [] : [`${name} ≤ ${tookText(millis)}`],
  );
  const answers = told.length === 0 ? 'no answer' : `answers ${told.join(', ')}`;
  return `${formatShare(share)} of ${numberOf(attempts, 'attempt')} delivered · ${answers}`;
}

export function tookText(millis: number): string {
  return millis < 1000 ? `${millis} ms` : formatDuration(millis);
}

/** The keys that wait for a delivery that has failed, and what can be done about it. */
function blockedLines(context: Context, { blocked }: Story, { at }: Times): string[] {
  if (blocked.length === 0) return [];
  const lines = blocked.map(({ key, delivery_id, since, waiting, status, next_retry, ...head }) => {
    const count = `${formatCount(waiting.count)}${waiting.is_exact ? '' : '+'}`;
    const then = status === 'pending' ? `again at ${at(next_retry ?? '')}` : 'abandoned';
    return printable(
      `  ${key}  ${count} waiting since ${at(since)}  ${delivery_id}  ${head.error ?? 'failed'}, ${then}`,
    );
  });
  return section(context, 'BLOCKED KEYS', lines);
}

type Told = Pick<
  Story['jobs'][number] | Story['replays'][number],
  'id' | 'state' | 'rows_done' | 'rows_total' | 'created_at'
>;

/** The sections below the facts: the newest attempts, and the bulk retries and replays for it. */
export function storyLines(context: Context, { story }: Endpoint, times: Times): string[] {
  if (story === undefined) return [];
  const attempts = story.attempts.map((attempt) =>
    printable(
      `  ${times.below(attempt.started_at)}  ${tookText(attempt.duration_ms).padStart(7)}  ${attempt.delivery_id}  ${outcomeOf(attempt)}`,
    ),
  );
  const lineOf = ({ id, state, rows_done: done, rows_total: total, created_at: at }: Told) =>
    `  ${times.below(at)}  ${id}  ${state}, ${total === null ? '' : `${formatCount(done)} of `}${numberOf(total ?? done, 'row')}`;
  const jobs = story.jobs.map(lineOf);
  const replays = story.replays.map(lineOf);
  return [
    ...blockedLines(context, story, times),
    ...section(
      context,
      `NEWEST ATTEMPTS (${times.zone})`,
      attempts.length === 0 ? ['  none yet'] : attempts,
    ),
    ...(jobs.length === 0 ? [] : section(context, `BULK RETRIES AND PURGES (${times.zone})`, jobs)),
    ...(replays.length === 0 ? [] : section(context, `REPLAYS (${times.zone})`, replays)),
  ];
}

/** What to look at next. */
export function nextOfStory({ id, story }: Endpoint): string | null {
  const status = story?.dead_letters[0]?.status;
  const dead =
    status === undefined
      ? ''
      : `its dead letters: svcctl dlq groups --status ${status} --endpoint ${id} · retry them: svcctl dlq retry --all --status ${status} --endpoint ${id} · `;
  const [stuck] = story?.blocked ?? [];
  const skip =
    stuck === undefined
      ? ''
      : `let the next of a blocked key go: svcctl endpoints skip ${id} --key ${shellQuote(stuck.key)} · `;
  return `${skip}${dead}its deliveries: svcctl deliveries ls --endpoint ${id}`;
}
