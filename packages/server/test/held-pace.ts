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

/** A pace that never rests, and counts how often work asks for a rest. */
export function countPace(): { pace: Pace; rests: () => number } {
  let rests = 0;
  const rest = async () => {
    rests += 1;
  };
  return { pace: { begin: () => rest }, rests: () => rests };
}

/** A promise, and the functions that end it, for work that a test holds up. */
export function hold(): {
  promise: Promise<void>;
  resolve: () => void;
  reject: (error: Error) => void;
} {
  let resolve = () => {};
  let reject: (error: Error) => void = () => {};
  const promise = new Promise<void>((done, fail) => {
    [resolve, reject] = [done, fail];
  });
  return { promise, resolve, reject };
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
