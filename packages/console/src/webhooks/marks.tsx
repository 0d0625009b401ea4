import type { ReactNode } from 'react';
import type { DeliveryStatus } from '../api/values.ts';
import {
  AbandonedIcon,
  DeliveredIcon,
  DiscardedIcon,
  PendingIcon,
  QueuedIcon,
} from '../ui/icons.tsx';
import { CutText, Moment, usePageNow } from '../ui/marks.tsx';
import classes from './marks.module.css';
import { pathEnd } from './words.ts';

const icons = {
  queued: QueuedIcon,
  pending: PendingIcon,
  abandoned: AbandonedIcon,
  delivered: DeliveredIcon,
  discarded: DiscardedIcon,
} as const;

/** A status as a word with a shape and a colour. */
export function StatusMark({ status }: { status: DeliveryStatus }): ReactNode {
  const Icon = icons[status];
  return (
    <span className={classes.status} data-status={status}>
      <Icon />
      {status}
    </span>
  );
}

/** When the next attempt is; once that time has come, the delivery only waits for its turn. */
export function NextRetry({ at }: { at: string | null }): ReactNode {
  const now = usePageNow();
  const isDue = at !== null && Date.parse(at) <= now;
  return isDue ? <span className={classes.due}>due</span> : <Moment at={at} />;
}

/** A URL, cut in its middle if there is too little room. */
export function Target({ target }: { target: string }): ReactNode {
  return <CutText text={target} end={pathEnd(target)} />;
}

/** An HTTP status, or a dash when no answer ever came. */
export function LastStatus({ status }: { status: number | null }): ReactNode {
  return status === null ? <span className={classes.none}>–</span> : status;
}
