import { test } from 'vitest';

const times = () => Number(process.env.SVC_TEST_RUNS ?? 1);

/**
 * How many random runs a property gets, or rounds a race: SVC_TEST_RUNS=20 has twenty times as many for whoever looks for
 * what is rare. `npm run test:slow` has three times as many.
 */
export function runs(usual: number): number {
  return usual * times();
}

const isWhole = times() > 1;

/** Tries in seconds what others try nearly as well: `npm run test:slow` has it, and `npm test` leaves it out. */
export function testRarely(name: string, run: () => Promise<void>): void {
  if (isWhole) test(name, run);
}

/** Some of the cases of a test, the first and the last among them; all of them where there are more runs. */
export function sweep<T>(cases: readonly T[], some = 3): readonly T[] {
  if (isWhole || cases.length <= some) return cases;
  const step = (cases.length - 1) / (some - 1);
  return cases.filter((_, n) =>
    Array.from({ length: some }, (_, at) => Math.round(at * step)).includes(n),
  );
}
