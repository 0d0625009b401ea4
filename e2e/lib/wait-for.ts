import { setTimeout as delay } from 'node:timers/promises';

const pollMillis = 20;

/** Polls until `probe` answers something truthy, and returns it. Throws what it waited for when time is up. */
export async function waitFor<T>(
  what: string,
  probe: () => T | Promise<T>,
  deadlineMillis = 120_000,
): Promise<Exclude<T, undefined | null | false | 0 | ''>> {
  const deadline = performance.now() + deadlineMillis;
  for (;;) {
    const found = await probe();
    if (found) return found as Exclude<T, undefined | null | false | 0 | ''>;
    if (performance.now() > deadline)
      throw new Error(`waited ${deadlineMillis} ms in vain for ${what}`);
    await delay(pollMillis);
  }
}
