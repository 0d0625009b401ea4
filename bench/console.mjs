import { benchFirstRows } from './console/first-rows.mjs';
import { benchIdle } from './console/idle.mjs';
import { startBrowser } from './console/open-console.mjs';
import { benchOverview } from './console/overview.mjs';
import { storeRecords } from './console/records.mjs';
import { benchScripts } from './console/scripts.mjs';
import { benchScroll } from './console/scroll.mjs';
import { sizes } from './console/sizes.mjs';
import { benchToggle } from './console/toggle.mjs';
import { connect } from './lib/postgres.mjs';
import { runSections } from './lib/run-sections.mjs';
import { withScope } from './lib/scope.mjs';
import { startService } from './lib/service.mjs';
import { formatCount } from './lib/table.mjs';
import { generateLeaves } from './records/generate-leaves.mjs';

const sections = {
  scripts: benchScripts,
  rows: benchFirstRows,
  toggle: benchToggle,
  scroll: benchScroll,
  idle: benchIdle,
  overview: benchOverview,
};

/** The console in a real browser, on a service with a million leaves, and what its first page asks for. */
export const runBench = (options) =>
  runSections({ name: 'console', sections, sizes, start: startConsole }, options);

async function startConsole(bench) {
  const { service, databaseUrl } = await startFilled(bench);
  const browser = await startBrowser(bench.scope, service);
  return { service, databaseUrl, browser, about: `Chromium ${browser.version}` };
}

/** A service with made-up leaves, and one tenant that has records behind it. */
async function startFilled({ scope, dir, postgres, sizes: { leaves }, say }) {
  const url = await postgres.createDatabase(scope, 'bench_console');
  const service = await startService(scope, { dir, name: 'console', databaseUrl: url });
  say(`generating ${formatCount(leaves.tenants * leaves.stores * leaves.months)} leaves`);
  await withScope(scope, async (own) => {
    await generateLeaves(await connect(own, url), { ...leaves, hasDays: false });
    await storeRecords(own, service);
  });
  return { service, databaseUrl: url };
}
