import { withScope } from '../lib/scope.mjs';
import { median } from '../lib/stats.mjs';
import {
  formatCount,
  formatMillis,
  formatRatio,
  formatSeconds,
  goal,
  markdownTable,
  none,
} from '../lib/table.mjs';
import { startBarePage } from './bare-page.mjs';
import { firstRowsMillis, untilVisible, watchFirstRows } from './open-console.mjs';
import { manyOpen } from './sizes.mjs';

const goalMillis = 1000;
const goalAllMillis = 2000;
const warmups = 2;

/** From a reload to rows on the screen, against a bare page that shows the same answer; in turn. */
export async function benchFirstRows({ scope, service, browser, sizes }) {
  const ours = await browser.openPage(scope);
  const bare = await browser.openPage(scope, await startBarePage(scope, service));
  await watchFirstRows(ours, '[role="treeitem"]');
  await watchFirstRows(bare, 'tbody tr');
  await ours.goto('/#/records');
  await bare.goto('/');
  const times = { ours: [], bare: [], first: [] };
  for (let i = 0; i < warmups + sizes.reloads; i += 1) {
    const own = await reload(ours);
    const other = await reload(bare);
    const first = await withScope(scope, (visit) => visitFirst(browser, visit));
    if (i < warmups) continue;
    times.ours.push(own);
    times.bare.push(other);
    times.first.push(first);
  }
  times.many = await reloadMany(ours, sizes);
  return report(times, sizes);
}

async function reload(page) {
  await page.reload();
  return firstRowsMillis(page);
}

/** With so many open stores, whose months all come anew: the first rows, and all of them. */
async function reloadMany(page, sizes) {
  const { place, visible } = manyOpen(sizes);
  await page.goto(place);
  await untilVisible(page, visible);
  const times = { visible, first: [], all: [] };
  for (let i = 0; i < sizes.reloadsOfMany; i += 1) {
    const startedAt = performance.now();
    times.first.push(await reload(page));
    await untilVisible(page, visible);
    times.all.push(performance.now() - startedAt);
  }
  return times;
}

/** In a fresh profile: scripts are fetched and compiled, too. */
async function visitFirst(browser, visit) {
  const page = await browser.openPage(visit);
  await watchFirstRows(page, '[role="treeitem"]');
  await page.goto('/#/records');
  return firstRowsMillis(page);
}

function report(times, { reloads, openStores }) {
  const bare = median(times.bare);
  const row = (name, values, cell) => [
    name,
    formatTime(median(values)),
    formatTime(Math.min(...values)),
    formatTime(Math.max(...values)),
    formatRatio(median(values) / bare),
    cell,
  ];
  return [
    '### First rows',
    `From the start of the navigation until the first rows are painted, against the running service; ${reloads} each, in turn. The bare page is one HTML file with one \`fetch\` of the same answer into a \`<table>\`.`,
    markdownTable(
      ['', 'median:', 'best:', 'worst:', 'to the bare page:', 'goal'],
      [
        row('reload', times.ours, goal('< 1 s', median(times.ours) < goalMillis)),
        row(
          `reload with ${formatCount(openStores)} open stores`,
          times.many.first,
          goal('< 1 s', median(times.many.first) < goalMillis),
        ),
        row(
          `… until all ${formatCount(times.many.visible)} nodes are there`,
          times.many.all,
          goal('≤ 2 s', median(times.many.all) <= goalAllMillis),
        ),
        row('first visit, nothing cached', times.first, none),
        row('reload of the bare page', times.bare, none),
      ],
    ),
  ].join('\n\n');
}

function formatTime(millis) {
  return millis < 2000 ? formatMillis(millis) : formatSeconds(millis);
}
