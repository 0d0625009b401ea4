import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync } from 'node:zlib';
import { serve } from '../lib/listen.mjs';
import { inTurn, median, timed } from '../lib/measure.mjs';
import { withScope } from '../lib/scope.mjs';
import {
  formatCount,
  formatMillis,
  formatRatio,
  formatSeconds,
  goal,
  markdownTable,
  none,
  section,
} from '../lib/table.mjs';
import { storeName, tenantName } from '../records/leaves.mjs';
import { firstRowsMillis, openMany, scrollTo, untilVisible, watchFirstRows } from './browser.mjs';

const assets = fileURLToPath(new URL('../../packages/console/dist/assets', import.meta.url));

/** What a first visit loads before it shows rows, and what comes only when it is used. */
export async function benchScripts({ scope, browser }) {
  const page = await browser.openPage(scope);
  // A page in the background loads nothing ahead, which would not belong to the first load.
  await page.addInitScript("Object.defineProperty(document, 'hidden', { get: () => true });");
  await page.goto('/#/records');
  await page.getByRole('treeitem').first().waitFor();
  const loaded = await page.evaluate(() =>
    performance.getEntriesByType('resource').map((entry) => new URL(entry.name).pathname),
  );
  const all = readdirSync(assets)
    .filter((name) => !/\.(br|gz)$/.test(name))
    .map((name) => `/assets/${name}`);
  const isFirst = (ending) => (path) => path.endsWith(ending) && loaded.includes(path);
  const [scripts, styles, fonts, later] = [
    ...['.js', '.css', '.woff2'].map((ending) => all.filter(isFirst(ending))),
    all.filter((path) => !loaded.includes(path)),
  ].map(measure);
  if (scripts.files === 0) throw new Error('the first load loaded no script');
  const whole = [scripts, styles, fonts].reduce(add);
  const row = (name, { files, wire, plain }, cell = none) => [
    ...[name, files, kilobytes(wire), kilobytes(plain)],
    cell,
  ];
  return section(
    'First load',
    'The start page with its first rows, nothing cached. "Wire" is what is sent: brotli, but for fonts, which are compressed already (kB = 1,000 bytes).',
    markdownTable(
      ['', 'files:', 'wire:', 'plain:', 'goal'],
      [
        row('scripts', scripts),
        row('styles', styles),
        row('fonts', fonts),
        row('the first load in all', whole, goal('≤ 250 kB', whole.wire)),
        row('loaded when the page rests, or when used', later),
      ],
    ),
  );
}

function measure(paths) {
  const none = { files: 0, wire: 0, plain: 0 };
  return paths
    .map((path) => {
      const content = readFileSync(join(assets, basename(path)));
      const wire = path.endsWith('.woff2') ? content : brotliCompressSync(content);
      return { files: 1, wire: wire.length, plain: content.length };
    })
    .reduce(add, none);
}

const add = (one, other) => ({
  files: one.files + other.files,
  wire: one.wire + other.wire,
  plain: one.plain + other.plain,
});

const kilobytes = (bytes) => `${(bytes / 1000).toFixed(0)} kB`;

/** From a reload to rows on the screen, against a bare page that shows the same answer; in turn. */
export async function benchFirstRows({ scope, service, browser, sizes }) {
  const treeItem = '[role="treeitem"]';
  const ours = await browser.openPage(scope);
  const bare = await browser.openPage(scope, await startBarePage(scope, service));
  await watchFirstRows(ours, treeItem);
  await watchFirstRows(bare, 'tbody tr');
  await ours.goto('/#/records');
  await bare.goto('/');
  const ways = {
    ours: () => reload(ours),
    bare: () => reload(bare),
    /** In a fresh profile: scripts are fetched and compiled, too. */
    first: () =>
      withScope(scope, async (visit) => {
        const page = await browser.openPage(visit);
        await watchFirstRows(page, treeItem);
        await page.goto('/#/records');
        return firstRowsMillis(page);
      }),
  };
  const times = await inTurn(ways, sizes.reloads, { warmups: 2 });
  // With so many open stores: the first rows, all nodes, and months that are read when they come to the screen.
  let first = 0;
  const visible = await openMany(ours, sizes);
  const { stores, months } = sizes.leaves;
  const middle = Math.floor(stores / 2);
  const january = `[data-key="${tenantName(0)}/${storeName(middle)}/2025-01"]:not([aria-busy])`;
  const many = async () => {
    const [all] = await timed(async () => {
      first = await reload(ours);
      await untilVisible(ours, visible);
    });
    const [jump] = await timed(async () => {
      // The record set's tenant and the store's own stand above.
      await scrollTo(ours, 2 + middle * (1 + months));
      await ours.locator(january).waitFor();
    });
    return { first, all, jump };
  };
  const ofMany = (await inTurn({ many }, sizes.reloadsOfMany)).many;
  const row = (name, values, wanted) => [
    name,
    ...[median(values), Math.min(...values), Math.max(...values)].map(formatTime),
    formatRatio(median(values) / median(times.bare)),
    wanted === undefined ? none : goal(wanted, median(values)),
  ];
  return section(
    'First rows',
    `From the start of the navigation until the first rows are painted, against the running service; ${sizes.reloads} each, in turn. Of the open stores all nodes are there when the list is as high as all of them and those on the screen have their figures; others are read when they come near it. The bare page is one HTML file with one \`fetch\` of the same answer into a \`<table>\`.`,
    markdownTable(
      ['', 'median:', 'best:', 'worst:', 'to the bare page:', 'goal'],
      [
        row('reload', times.ours, '< 1 s'),
        row(
          `reload with ${formatCount(sizes.openStores)} open stores`,
          ofMany.map((taken) => taken.first),
          '< 1 s',
        ),
        row(
          `… until all ${formatCount(visible)} nodes are there`,
          ofMany.map((taken) => taken.all),
          '≤ 2 s',
        ),
        row(
          '… a jump to months that are not read yet',
          ofMany.map((taken) => taken.jump),
        ),
        row('first visit, nothing cached', times.first),
        row('reload of the bare page', times.bare),
      ],
    ),
  );
}

async function reload(page) {
  await page.reload();
  return firstRowsMillis(page);
}

const formatTime = (millis) => (millis < 2000 ? formatMillis(millis) : formatSeconds(millis));

/** No framework, no styles, no keyboard: what the API answers, as one table. */
const html = `<!doctype html>
<meta charset="utf-8" />
<title>tenants</title>
<table><tbody></tbody></table>
<script>
  fetch('/api/v1/enrichment/datasets?level=tenant&limit=500').then(async (response) => {
    const { data } = await response.json();
    document.querySelector('tbody').innerHTML = data
      .map((row) => '<tr><td>' + row.tenant + '<td>' + row.count + '<td>' + row.bytes + '<td>' + row.coverage)
      .join('');
  });
</script>
`;

/**
 * What one would use instead of the console: one HTML page that asks the same API. It stands on an origin
 * of its own, which hands the request on with the token.
 */
const startBarePage = (scope, service) =>
  serve(scope, (request, response) => answer(service, request, response));

async function answer(service, request, response) {
  if (request.url === '/') {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
    response.end(html);
    return;
  }
  try {
    const answered = await fetch(service.origin + request.url, {
      headers: { authorization: `Bearer ${service.token}` },
    });
    response.writeHead(answered.status, { 'content-type': 'application/json; charset=utf-8' });
    response.end(await answered.text());
  } catch {
    response.writeHead(502).end();
  }
}
