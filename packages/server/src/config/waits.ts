/**
 * Waits of a process that no variable sets, in milliseconds. A test makes those shorter that it waits for to pass; nobody
 * else changes them.
 */
export type Waits = {
  /** Between two beats by which a process tells the others that it lives; with each it looks for new keys. */
  readonly beatMillis: number;
  /** Between two looks whether all processes know a key, while keys are rotated. */
  readonly keysMillis: number;
  /** Between two looks of a drainer whether its part of the lanes is right; it tells by them that it lives. */
  readonly lanesMillis: number;
  /** Between two looks for statements that wait for a standby; left out, it is what `openDatabase` takes by itself. */
  readonly standbyMillis?: number;
  /** A scrape never waits longer for the database or a disk: Prometheus gives up after ten seconds. */
  readonly scrapeMillis: number;
  /** Nor so long for the token that it is asked with. */
  readonly scrapeTokenMillis: number;
};

export const usualWaits: Waits = {
  beatMillis: 10_000,
  keysMillis: 1000,
  lanesMillis: 2000,
  scrapeMillis: 5000,
  scrapeTokenMillis: 2000,
};
