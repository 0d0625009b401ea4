import type { ReactNode } from 'react';
import type { Delivery } from '../api/types.ts';
import type { DeliveryStatus } from '../api/values.ts';
import { formatCount } from '../ui/format.ts';
import {
  AbandonedIcon,
  DeliveredIcon,
  DiscardedIcon,
  PendingIcon,
  QueuedIcon,
} from '../ui/icons.tsx';
import { Moment, usePageNow } from '../ui/marks.tsx';
import { jobHref } from '../ui/panel-place.ts';
import { useSession } from '../ui/session.ts';

const marks = {
  queued: [QueuedIcon, 'data'],
  pending: [PendingIcon, 'warn'],
  abandoned: [AbandonedIcon, 'danger'],
  delivered: [DeliveredIcon, 'ok'],
  discarded: [DiscardedIcon, 'muted'],
} as const;

/** A status as a word with a shape and a colour; with a count, so many deliveries of that status. */
export function StatusMark(props: { status: DeliveryStatus; count?: number }): ReactNode {
  const { status, count } = props;
  const [Icon, tone] = marks[status];
  return (
    <span className={`word-mark ${tone}`}>
      <Icon />
      {count === undefined ? status : `${formatCount(count)} ${status}`}
    </span>
  );
}

export const whyPaused =
  'Its endpoint failed many times in a row: until then nothing is sent to it';

/** When the next attempt is; once that time has come, the delivery only waits for its turn. */
export function NextRetry({ of }: { of: Delivery }): ReactNode {
  const { next_retry: at, paused_until: pause } = of;
  const now = usePageNow();
  if (pause !== null && pause > (at ?? '')) {
    return (
      <span title={whyPaused}>
        paused, <Moment at={pause} />
      </span>
    );
  }
  const isDue = at !== null && Date.parse(at) <= now;
  return isDue ? <span className="ink">due</span> : <Moment at={at} />;
}

/** A link to a job in the list of all jobs; only its text for those who do not see it there. */
export function JobLink({ id, children }: { id: string; children: ReactNode }): ReactNode {
  return useSession().hasScope('dlq:operate') ? <a href={jobHref(id)}>{children}</a> : children;
}

/** An HTTP status, or a dash when no answer ever came. */
export function LastStatus({ status }: { status: number | null }): ReactNode {
  return status === null ? <span className="muted">–</span> : status;
}

/** Says since when a payload is gone; nothing while it is there. */
export function ErasedAt({ at }: { at: string | null }): ReactNode {
  if (at === null) return null;
  return (
    <p className="muted below-16">
      Its data was erased <Moment at={at} />.
    </p>
  );
}

/** What each status means, as a sentence. */
export const statusWords: Readonly<Record<DeliveryStatus, string>> = {
  queued: 'due at once',
  pending: 'failed, tried again by itself',
  abandoned: 'parked: no attempts are left',
  delivered: 'the receiver took it',
  discarded: 'never delivered',
};

/** The statuses in the order of their urgency: what needs a person comes first. */
export const urgentFirst = [
  'abandoned',
  'pending',
  'queued',
  'delivered',
  'discarded',
] as const satisfies readonly DeliveryStatus[];
