/** A statement that took long, by its text without values: how often, how long in all, and at most. */
export type SlowStatement = {
  readonly text: string;
  readonly count: number;
  readonly totalMillis: number;
  readonly maxMillis: number;
};

type SlowStatements = {
  readonly observe: (text: string, millis: number) => void;
  /** Those that took the most time in all come first. */
  readonly list: () => SlowStatement[];
};

/** So many are kept; beyond, the one that took the least time in all goes. */
const mostKept = 50;
const textLength = 1000;

/** Keeps the statements that took `fromMillis` or longer; none with 0. It lives as long as its process. */
export function createSlowStatements(fromMillis: number): SlowStatements {
  const kept = new Map<string, SlowStatement>();
  const list = () => [...kept.values()].toSorted((a, b) => b.totalMillis - a.totalMillis);
  return {
    observe(text, millis) {
      if (fromMillis === 0 || millis < fromMillis) return;
      const before = kept.get(text);
      kept.set(text, {
        // As it stands in the code, without the line breaks.
        text: before?.text ?? text.replace(/\s+/g, ' ').trim().slice(0, textLength),
        count: (before?.count ?? 0) + 1,
        totalMillis: (before?.totalMillis ?? 0) + millis,
        maxMillis: Math.max(before?.maxMillis ?? 0, millis),
      });
      if (kept.size <= mostKept) return;
      const least = [...kept].reduce((a, b) => (b[1].totalMillis < a[1].totalMillis ? b : a));
      kept.delete(least[0]);
    },
    list,
  };
}
