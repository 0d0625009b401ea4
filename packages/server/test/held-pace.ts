import type { Pace } from '../src/platform/work/pace.ts';

/** A pace at which work rests, as beside clients that never cease to wait, until it is let go or stopped. */
export function holdPace(): { pace: Pace; resting: Promise<void>; letGo: () => void } {
  const [rested, freed] = [new AbortController(), new AbortController()];
  const rest = (signal: AbortSignal) => {
    rested.abort();
    return untilAborted(AbortSignal.any([signal, freed.signal]));
  };
  return {
    pace: { begin: () => rest },
    resting: untilAborted(rested.signal),
    letGo: () => freed.abort(),
  };
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
