/** Kinds of background work that give way to clients, as the metrics name them. */
export const paced = ['moves', 'exports', 'retries', 'verifications', 'versions'] as const;
export type Paced = (typeof paced)[number];

/** Lets a loop of background work give way to clients. */
export type Pace = {
  /** Begins work whose loop awaits the result between small batches. `loops` of one kind side by side rest longer. */
  begin(loops?: number): Rest;
};

/** Returns when no client waits, after a rest of four times the work, or when the signal aborts. */
export type Rest = (signal: AbortSignal) => Promise<void>;

/** For work that a client waits for itself. */
export const unpaced: Pace = { begin: () => async () => {} };

/** So many times as long as it works may work rest: a fifth of the time is its own, however many clients wait. */
const restsPerWork = 4;
/** The longest rest after work that could not be cut into batches. */
const longestMillis = 1000;
/** How often a rest looks whether clients still wait. */
const lookMillis = 5;

/** Paces one kind of work. `isAwaited` says whether clients wait, and `onRest` is told of each rest. */
export function createPace(options: {
  isAwaited: () => boolean;
  onRest: (seconds: number) => void;
}): Pace {
  const { isAwaited, onRest } = options;
  return {
    begin(loops = 1) {
      const rests = (restsPerWork + 1) * loops - 1;
      let workedSince = performance.now();
      // What short batches may rest is added up: none of them could rest for as long as one look takes.
      let mayRestMillis = 0;
      return async (signal) => {
        // A request that has come during the batch is read in this turn of the event loop; before that nobody knows it.
        await new Promise((resolve) => setImmediate(resolve));
        let now = performance.now();
        mayRestMillis = Math.min(longestMillis, mayRestMillis + (now - workedSince) * rests);
        workedSince = now;
        while (mayRestMillis >= lookMillis && isAwaited() && !signal.aborted) {
          await new Promise((resolve) => setTimeout(resolve, lookMillis));
          now = performance.now();
          onRest((now - workedSince) / 1000);
          mayRestMillis -= now - workedSince;
          workedSince = now;
        }
      };
    },
  };
}

/** The requests under way whose clients wait for an answer that comes soon. */
export type Waiting = {
  /** Notes a request, and returns what is to be called when it has ended. */
  enter(): () => void;
  isAny(): boolean;
};

/** A stream of records or an export goes on for longer; its client waits for the whole, and not for the next moment. */
const soonMillis = 1000;

export function createWaiting(): Waiting {
  const entered = new Set<{ readonly atMillis: number }>();
  return {
    enter() {
      const request = { atMillis: performance.now() };
      entered.add(request);
      return () => entered.delete(request);
    },
    isAny() {
      const since = performance.now() - soonMillis;
      // The oldest come first, so those that count no more are looked at only once.
      for (const request of entered) {
        if (request.atMillis > since) return true;
        entered.delete(request);
      }
      return false;
    },
  };
}
