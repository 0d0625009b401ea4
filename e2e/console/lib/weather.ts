import type { Page, Route } from 'playwright-core';

export type Weather = 'fair' | 'failing' | 'cut' | 'hanging';

const unavailable = {
  type: 'about:blank',
  title: 'Unavailable',
  status: 503,
  code: 'database_unavailable',
  detail: 'The database does not answer.',
  request_id: 'req-e2e',
};

/** Stands between the page and the API, and lets through, refuses, cuts or holds every request. */
export async function standBetween(page: Page): Promise<{ turn(weather: Weather): void }> {
  let weather: Weather = 'fair';
  const answer = {
    fair: (route: Route) => route.continue(),
    failing: (route: Route) =>
      route.fulfill({
        status: 503,
        contentType: 'application/problem+json',
        headers: { 'x-request-id': 'req-e2e' },
        body: JSON.stringify(unavailable),
      }),
    cut: (route: Route) => route.abort('connectionrefused'),
    hanging: () => Promise.resolve(),
  };
  await page.route('**/api/v1/**', (route) => answer[weather](route));
  return {
    turn(next) {
      weather = next;
    },
  };
}

/** The line that says what failed, while something does. */
export const banner = (page: Page) => page.locator('[data-failing]');

/**
 * Stops the clock of the page a little ahead. That time may be past before the page is told, and a clock does not go
 * back: then it is stopped further ahead. Tries of the page that are due by then begin.
 */
export async function stopClock(page: Page, aheadMillis = 1000): Promise<void> {
  const now = await page.evaluate<number>('Date.now()');
  try {
    await page.clock.pauseAt(now + aheadMillis);
  } catch (error) {
    if (!String(error).includes('Cannot fast-forward to the past')) throw error;
    await stopClock(page, aheadMillis * 2);
  }
}

/** Holds such requests back until the function is called that it answers. */
export async function holdBack(page: Page, method: string, url: string): Promise<() => void> {
  let release = () => {};
  const gate = new Promise<void>((open) => {
    release = open;
  });
  await page.route(url, async (route) => {
    if (route.request().method() === method) await gate;
    await route.continue();
  });
  return release;
}
