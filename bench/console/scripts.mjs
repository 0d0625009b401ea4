import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { goal, markdownTable, none } from '../lib/table.mjs';

const assets = fileURLToPath(new URL('../../packages/console/dist/assets', import.meta.url));
const goalBytes = 250_000;

/** What a first visit loads before it shows rows, and what comes only when it is used. */
export async function benchScripts({ scope, service, browser }) {
  const page = await browser.openPage(scope);
  await page.goto('/#/records');
  await page.getByRole('treeitem').first().waitFor();
  const loaded = await page.evaluate(() =>
    performance.getEntriesByType('resource').map((entry) => new URL(entry.name).pathname),
  );
  const all = readdirSync(assets).map((name) => `/assets/${name}`);
  const ending = (end, isFirst) =>
    all.filter((path) => path.endsWith(end) && loaded.includes(path) === isFirst);
  const [first, later, styles] = await Promise.all(
    [ending('.js', true), ending('.js', false), ending('.css', true)].map((paths) =>
      measure(service.origin, paths),
    ),
  );
  if (first.files === 0) throw new Error('the first load loaded no script');
  return [
    '### Scripts',
    'The start page with its first rows, nothing cached. gzip as zlib makes it (kB = 1,000 bytes).',
    markdownTable(
      ['', 'files:', 'gzip:', 'plain:', 'goal'],
      [
        row('scripts of the first load', first, goal('≤ 250 kB', first.gzip <= goalBytes)),
        row('scripts loaded when they are used', later, none),
        row('styles of the first load', styles, none),
      ],
    ),
  ].join('\n\n');
}

async function measure(origin, paths) {
  let gzip = 0;
  let plain = 0;
  for (const path of paths) {
    const answer = await fetch(origin + path);
    if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
    const bytes = Buffer.from(await answer.arrayBuffer());
    gzip += gzipSync(bytes).length;
    plain += bytes.length;
  }
  return { files: paths.length, gzip, plain };
}

function row(name, { files, gzip, plain }, cell) {
  return [name, files, kilobytes(gzip), kilobytes(plain), cell];
}

function kilobytes(bytes) {
  return `${(bytes / 1000).toFixed(0)} kB`;
}
