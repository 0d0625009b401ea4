import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';

/**
 * What the tests of a file share. `start` makes it before the first of them, or before each, and `stop` ends it
 * afterwards. Nothing of it may be looked at before a test begins.
 */
export function use<T extends object>(
  start: () => Promise<T>,
  stop: (made: T) => Promise<unknown>,
  when: 'once' | 'each' = 'once',
): T {
  const shown = {} as T;
  let made: T | undefined;
  const [before, after] = when === 'once' ? [beforeAll, afterAll] : [beforeEach, afterEach];
  before(async () => {
    made = await start();
    Object.defineProperties(shown, Object.getOwnPropertyDescriptors(made));
  });
  after(async () => {
    if (made !== undefined) await stop(made);
    made = undefined;
  });
  return shown;
}
