import { createContext, type ReactNode, use } from 'react';
import { formatInstant, visibleText, type Zone } from './format.ts';
import { useNow } from './freshness.tsx';
import classes from './list-page.module.css';
import { formatDistance } from './words.ts';
import { useZone, zoneName } from './zone-switch.tsx';

/** How often the times of a page are updated: each second would keep a slow machine busy with 400 rows. */
const tickMillis = 5_000;

const NowContext = createContext(0);
const ZoneContext = createContext<Zone>('utc');

/** Gives all times of a page one clock and one zone, so that rows need not be drawn again at each tick. */
export function NowProvider({ children }: { children: ReactNode }): ReactNode {
  const [zone] = useZone();
  return (
    <NowContext value={useNow(tickMillis)}>
      <ZoneContext value={zone}>{children}</ZoneContext>
    </NowContext>
  );
}

/** The present time as `Moment` uses it, in milliseconds. */
export function usePageNow(): number {
  return use(NowContext);
}

/** How far away a moment is; its title says exactly when. */
export function Moment({ at }: { at: string | null }): ReactNode {
  const now = usePageNow();
  const zone = use(ZoneContext);
  if (at === null) return <span className="muted">–</span>;
  return (
    <time dateTime={at} title={`${formatInstant(at, zone)} ${zoneName(zone)}`}>
      {formatDistance(at, now)}
    </time>
  );
}

/** A moment to the second, with its zone; its title has the microseconds. */
export function Instant({ at }: { at: string | null }): ReactNode {
  const [zone] = useZone();
  if (at === null) return '–';
  const whole = `${formatInstant(at, zone)} ${zoneName(zone)}`;
  return (
    <time dateTime={at} title={whole}>
      {whole.replace(/\.\d+/, '')}
    </time>
  );
}

/** A moment to the second, with its zone, and how far away it is. */
export function At({ at }: { at: string | null }): ReactNode {
  if (at === null) return <span className="muted">–</span>;
  return (
    <>
      <Instant at={at} />
      <span className="muted">
        <Moment at={at} />
      </span>
    </>
  );
}

/**
 * Foreign text in a cell that may cut it. Hover shows the whole, and it cannot change the direction of writing. Long text
 * is cut in its middle: the `end` tells those apart that begin alike. Sentences have none, and are cut at their end.
 */
export function CutText({ text, end }: { text: string; end?: string | undefined }): ReactNode {
  const shown = visibleText(text);
  const kept = end === undefined ? endOf(shown) : visibleText(end);
  if (kept === '') return <span title={shown}>{shown}</span>;
  return (
    <span className={`shrink ${classes.cut}`} title={shown}>
      <span>{shown.slice(0, -kept.length)}</span>
      <span>{kept}</span>
    </span>
  );
}

const longText = 24;
const endLength = 8;

/** The end that stays; none of short text, nor of text that may be written from right to left. */
function endOf(text: string): string {
  if (text.length < longText || /[\u0590-\u08ff]/.test(text)) return '';
  return [...text].slice(-endLength).join('');
}
