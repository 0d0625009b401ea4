import { startBrowser } from './console/browser.mjs';
import { benchFirstRows, benchScripts } from './console/loading.mjs';
import { benchIdle, benchOverview } from './console/resting.mjs';
import { benchScroll, benchToggle } from './console/tree.mjs';
import { call } from './lib/client.mjs';
import { runSections } from './lib/run-sections.mjs';
import { startAlone } from './lib/service.mjs';
import { formatCount } from './lib/table.mjs';
import { generateLeaves } from './records/leaves.mjs';

const sections = {
  scripts: benchScripts,
  rows: benchFirstRows,
  toggle: benchToggle,
  scroll: benchScroll,
  idle: benchIdle,
  overview: benchOverview,
};

/**
 * How much each kind of run measures. A store with its months open adds `months` visible nodes: opening
 * `openStores` of them is what makes 100,000. `smallest` only shows that a section still runs.
 */
const million = { leaves: { tenants: 20, stores: 500, months: 100 }, openStores: 1010 };
const sizes = {
  smallest: {
    leaves: { tenants: 4, stores: 20, months: 12 },
    ...{ reloads: 1, reloadsOfMany: 1, toggles: 2, openStores: 22 },
    ...{ scrollPx: 2000, idleMillis: 200, overviews: 5 },
  },
  quick: {
    leaves: { tenants: 4, stores: 100, months: 100 },
    ...{ reloads: 3, reloadsOfMany: 2, toggles: 6, openStores: 130 },
    ...{ scrollPx: 20_000, idleMillis: 3000, overviews: 100 },
  },
  standard: {
    ...million,
    ...{ reloads: 15, reloadsOfMany: 7, toggles: 60 },
    ...{ scrollPx: 80_000, idleMillis: 35_000, overviews: 400 },
  },
  full: {
    ...million,
    ...{ reloads: 40, reloadsOfMany: 20, toggles: 200 },
    ...{ scrollPx: 240_000, idleMillis: 65_000, overviews: 2000 },
  },
};

/** The console in a real browser, on a service with a million leaves, and what its first page asks for. */
export const runBench = (options) =>
  runSections({ name: 'console', sections, sizes, start: startConsole }, options);

/** A service with made-up leaves, and one tenant that has records behind it. */
async function startConsole({ sizes: { leaves }, say, ...bench }) {
  const { service, db } = await startAlone(bench, 'console');
  say(`generating ${formatCount(leaves.tenants * leaves.stores * leaves.months)} leaves`);
  await generateLeaves(db, { ...leaves, hasDays: false });
  await call(service, 'POST', '/enrichment/records', { records: madeRecords(1000) });
  const browser = await startBrowser(bench.scope, service);
  return { service, db, browser, about: `Chromium ${browser.version}` };
}

/** The tenant `records`, whose one leaf has records behind it. */
function madeRecords(count) {
  const stepMillis = Math.floor((31 * 86_400_000) / count);
  return Array.from({ length: count }, (_, n) => ({
    tenant: 'records',
    store: 'store',
    event_id: `event-${String(n).padStart(4, '0')}`,
    occurred_at: new Date(Date.UTC(2025, 0, 1) + n * stepMillis).toISOString(),
    kind: n % 3 === 0 ? 'arrival' : 'departure',
    source: 'bench',
    enrichment: { n },
  }));
}
