import { createContext, type ReactNode, use } from 'react';
import { formatInstant, visibleText, type Zone } from './format.ts';
import { useNow } from './freshness.tsx';
import classes from './list-page.module.css';
import { formatDistance } from './words.ts';
import { useZone, zoneName } from './zone-switch.tsx';

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

/** The time that `Moment` reckons with. */
export function usePageNow(): number {
  return use(NowContext);
}

/** How far off a moment is; exactly when, by its title. */
export function Moment({ at }: { at: string | null }): ReactNode {
  const now = usePageNow();
  const zone = use(ZoneContext);
  if (at === null) return <span className={classes.none}>–</span>;
  return (
    <time dateTime={at} title={`${formatInstant(at, zone)} ${zoneName(zone)}`}>
      {formatDistance(at, now)}
    </time>
  );
}

/** Text of others in a cell that may cut it: whole on hover, and never written in another direction. */
export function CutText({ text }: { text: string }): ReactNode {
  const shown = visibleText(text);
  return <span title={shown}>{shown}</span>;
}
