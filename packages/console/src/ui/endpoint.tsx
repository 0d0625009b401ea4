import type { ReactNode } from 'react';
import type { DeliveryHours, Endpoint } from '../api/types.ts';
import { targetText } from '../api/values.ts';
import { Sparkline } from './chart/sparkline.tsx';
import { formatCount, formatShare, visibleText } from './format.ts';
import { AbandonedIcon, FailingIcon, OkIcon, PendingIcon, RunningIcon } from './icons.tsx';
import { CutText } from './marks.tsx';
import { countOf } from './words.ts';

/** The number of deliveries of an endpoint that are queued or pending: `1,204`, or `10,000+`. */
export function backlogText({ count, is_exact: isExact }: Endpoint['backlog']): string {
  return `${count.toLocaleString('en-US')}${isExact ? '' : '+'}`;
}

const marks = {
  ok: [OkIcon, 'ok'],
  degraded: [RunningIcon, 'warn'],
  failing: [FailingIcon, 'danger'],
  unpolled: [PendingIcon, 'warn'],
  gone: [AbandonedIcon, 'danger'],
  disabled: [AbandonedIcon, 'muted'],
} as const;

/** How an endpoint fares, as a word with a shape and a colour. */
export function EndpointHealth({ endpoint }: { endpoint: Endpoint }): ReactNode {
  const { health } = endpoint;
  const [Icon, tone] = marks[health];
  return (
    <span
      className={`word-mark ${tone}`}
      data-health={health}
      title={whyDegraded(endpoint) && 'So many in a row. After more of them it is paused'}
    >
      <Icon />
      {healthText(endpoint)}
    </span>
  );
}

export function healthText(endpoint: HealthFacts): string {
  const { health, held_back: heldBack } = endpoint;
  const word = health === 'unpolled' ? 'waits for its poller' : health;
  return `${word}${whyDegraded(endpoint)}${whyDisabled(endpoint)}${heldBack === null ? '' : ', held back'}`;
}

type HealthFacts = Pick<
  Endpoint,
  'health' | 'breaker' | 'enabled' | 'disabled_reason' | 'disabled_by' | 'held_back' | 'backlog'
>;

/** What keeps an endpoint from being ok that is not paused yet, even where nothing is delivered. */
function whyDegraded({ health, breaker: { failures_in_row: failures } }: HealthFacts): string {
  return health === 'degraded' && failures > 0 ? `: ${formatCount(failures)} failed` : '';
}

function whyDisabled(endpoint: HealthFacts): string {
  const { backlog, enabled, disabled_reason: reason, disabled_by: by } = endpoint;
  if (enabled) return '';
  if (backlog.is_discarding) return ': discards its backlog';
  if (reason === 'failing') return ': failed for days';
  if (reason === 'operator' && by !== null) return ` by ${by}`;
  return reason === 'gone' ? ' (410)' : '';
}

/** The attempts of the last 24 hours: how many delivered, and how many did not. */
export function HoursChart({ hours }: { hours: DeliveryHours | undefined }): ReactNode {
  if (hours === undefined || triesOf(hours) === 0) return <span className="muted">none</span>;
  const bad = hours.failed.map((count, at) => count + (hours.abandoned[at] ?? 0));
  return <Sparkline label={hoursText(hours)} good={hours.delivered} bad={bad} />;
}

/** The share of the attempts of the last 24 hours that delivered. */
export function OkShare({ hours }: { hours: DeliveryHours | undefined }): ReactNode {
  const share = okShareOf(hours);
  if (share === null) return <span className="muted">–</span>;
  return formatShare(share);
}

/** The share of attempts that delivered; null when there were none. */
export function okShareOf(hours: DeliveryHours | undefined): number | null {
  const tries = hours === undefined ? 0 : triesOf(hours);
  return hours === undefined || tries === 0 ? null : sum(hours.delivered) / tries;
}

/** The hours in words: `24 h: 1,204 delivered, 3 failed, none abandoned`. */
export function hoursText({ delivered, failed, abandoned }: DeliveryHours): string {
  const text = (numbers: readonly number[], word: string) =>
    `${countOf(sum(numbers), word, word)}`.replace(/^no /, 'none ');
  const parts = [
    text(delivered, 'delivered'),
    text(failed, 'failed'),
    text(abandoned, 'abandoned'),
  ];
  return `${delivered.length} h: ${parts.join(', ')}`;
}

function triesOf({ delivered, failed, abandoned }: DeliveryHours): number {
  return sum(delivered) + sum(failed) + sum(abandoned);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

/** What an endpoint is called, or else where it is. */
export function shownTarget(endpoint: Pick<Endpoint, 'name' | 'url'>): string {
  return visibleText(endpoint.name ?? targetText(endpoint.url).replace(/^https?:\/\//, ''));
}

/** A URL, cut in its middle if there is too little room. */
export function Target({ target }: { target: string }): ReactNode {
  return <CutText text={targetText(target)} end={urlEnd(target)} />;
}

const longestEnd = 32;

/** What tells URLs apart and is never cut: the end of host and path, or the last part of a long path; or undefined. */
export function urlEnd(url: string): string | undefined {
  const [, host = '', path = ''] = /^(?:https?:\/\/)?([^/?#]*)(.*)$/.exec(url) ?? [];
  const hostEnd = /(\.[^.]+)?\.[^.:]+(:\d+)?$/.exec(host)?.[0] ?? '';
  const ends = [hostEnd + path, path.slice(path.lastIndexOf('/'))];
  return ends.find((end) => end.length > 1 && end.length <= longestEnd);
}
