import { useEffect, useEffectEvent, useState } from 'react';
import { followRecords } from '../../api/follow.ts';
import { type RecordsSearch, sliceOf } from '../search.ts';
import { type RecordLine, readLine } from './records-page.ts';

/** What LIVE shows. */
type Live = {
  /** What has come since LIVE was switched on, the newest first. */
  readonly lines: readonly RecordLine[];
  /** How many more have come and are held back, because somebody reads. */
  readonly held: number;
  /** How many have come in all. */
  readonly count: number;
};

/** Why LIVE has switched itself off, for people. */
const endWords = {
  fast: 'LIVE is off: records come faster than anybody reads. Page through them, or narrow the slice.',
  slow: 'LIVE is off: this browser did not keep up. Page through the records, or narrow the slice.',
  refused: 'LIVE is off: the service does not follow this slice now. Try again in a moment.',
} as const;

/** Rows that came live are dropped at the bottom when there are more. */
const mostLines = 500;
const showMillis = 250;
/** Nobody reads so many records a second; then pages show more. */
const mostPerSecond = 1000;

const nothing: Live = { lines: [], held: 0, count: 0 };

/** Follows the records of the view while LIVE is on, and holds back what comes while `isHeld`; `onEnd` is told why. */
export function useLive(
  search: RecordsSearch,
  isHeld: () => boolean,
  onEnd: (words: string) => void,
): Live {
  const { live: isLive = false, kind, source, event, where } = search;
  const slice = JSON.stringify({ ...sliceOf(search), kind, source, event_id: event, where });
  const [live, setLive] = useState(nothing);
  const tell = useEffectEvent(onEnd);
  useEffect(() => {
    setLive(nothing);
    if (!isLive) return;
    let came: RecordLine[] = [];
    let [count, isNew, second, inSecond] = [0, false, 0, 0];
    const end = (why: keyof typeof endWords) => {
      stop();
      tell(endWords[why]);
    };
    const stopFollowing = followRecords(JSON.parse(slice) as Record<string, string>, {
      onRecord(text) {
        came.unshift(readLine(text));
        if (came.length > mostLines) came.length = mostLines;
        count += 1;
        isNew = true;
        const now = Math.floor(performance.now() / 1000);
        inSecond = now === second ? inSecond + 1 : 1;
        second = now;
        if (inSecond > mostPerSecond) end('fast');
      },
      onEnd: end,
    });
    const timer = setInterval(() => {
      if (!isNew) return;
      if (isHeld()) {
        setLive((before) => ({ ...before, held: came.length, count }));
        return;
      }
      const fresh = came;
      [came, isNew] = [[], false];
      setLive(({ lines }) => ({ lines: [...fresh, ...lines].slice(0, mostLines), held: 0, count }));
    }, showMillis);
    function stop(): void {
      clearInterval(timer);
      stopFollowing();
    }
    return stop;
  }, [isLive, slice, isHeld]);
  return live;
}
