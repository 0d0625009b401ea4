import { setTimeout as delay } from 'node:timers/promises';

/** Asks `probe` until it answers something true; throws what was waited for when time is up. */
export async function until(what, probe, timeoutMs = 60_000) {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const answer = await probe();
    if (answer) return answer;
    if (performance.now() > deadline) {
      throw new Error(`waited ${timeoutMs / 1000} s in vain for ${what}`);
    }
    await delay(25);
  }
}
