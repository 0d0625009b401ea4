import { createContext, type ReactNode, use } from 'react';
import type { DeliveryStatus } from '../api/types.ts';
import { formatInstant, type Zone } from './format.ts';
import { useNow } from './freshness.tsx';
import { AbandonedIcon, DeliveredIcon, DiscardedIcon, PendingIcon, QueuedIcon } from './icons.tsx';
import classes from './marks.module.css';
import { formatDistance, splitTarget } from './words.ts';
import { useZone, zoneName } from './zone-switch.tsx';

const icons = {
  queued: QueuedIcon,
  pending: PendingIcon,
  abandoned: AbandonedIcon,
  delivered: DeliveredIcon,
  discarded: DiscardedIcon,
} as const;

/** A status as word, shape and colour. */
export function StatusMark({ status }: { status: DeliveryStatus }): ReactNode {
  const Icon = icons[status];
  return (
    <span className={classes.status} data-status={status}>
      <Icon />
      {status}
    </span>
  );
}

/** 400 rows that each second look at the clock would keep a slow machine busy with nothing. */
const tickMillis = 5_000;

const NowContext = createContext(0);
const ZoneContext = createContext<Zone>('utc');

/** One clock and one zone for all times of a page, so that rows may rest while it ticks. */
export function NowProvider({ children }: { children: ReactNode }): ReactNode {
  const [zone] = useZone();
  return (
    <NowContext value={useNow(tickMillis)}>
      <ZoneContext value={zone}>{children}</ZoneContext>
    </NowContext>
  );
}

/** How far off a moment is; exactly when, by its title. */
export function Moment({ at }: { at: string | null }): ReactNode {
  const now = use(NowContext);
  const zone = use(ZoneContext);
  if (at === null) return <span className={classes.none}>–</span>;
  return (
    <time dateTime={at} title={`${formatInstant(at, zone)} ${zoneName(zone)}`}>
      {formatDistance(at, now)}
    </time>
  );
}

/** When the next attempt is; once its time has come, it only waits for its turn. */
export function NextRetry({ at }: { at: string | null }): ReactNode {
  const now = use(NowContext);
  const isDue = at !== null && Date.parse(at) <= now;
  return isDue ? <span className={classes.due}>due</span> : <Moment at={at} />;
}

/** A URL cut in its middle where it must be. */
export function Target({ target }: { target: string }): ReactNode {
  const [start, end] = splitTarget(target);
  return (
    <span className={classes.target} title={target}>
      <span>{start}</span>
      <span>{end}</span>
    </span>
  );
}

/** An HTTP status, or a dash where none ever came. */
export function LastStatus({ status }: { status: number | null }): ReactNode {
  return status === null ? <span className={classes.none}>–</span> : status;
}
