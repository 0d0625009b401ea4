/**
 * How many random runs a property gets, or rounds a race: SVC_TEST_RUNS=20 has twenty times as many for whoever looks for
 * what is rare. `npm run test:slow` has three times as many.
 */
export function runs(usual: number): number {
  return usual * Number(process.env.SVC_TEST_RUNS ?? 1);
}
