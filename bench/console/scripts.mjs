import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync } from 'node:zlib';
import { goal, markdownTable, none } from '../lib/table.mjs';

const assets = fileURLToPath(new URL('../../packages/console/dist/assets', import.meta.url));
const goalBytes = 250_000;

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
  const [scripts, styles, fonts, later] = [
    all.filter((path) => path.endsWith('.js') && loaded.includes(path)),
    all.filter((path) => path.endsWith('.css') && loaded.includes(path)),
    all.filter((path) => path.endsWith('.woff2') && loaded.includes(path)),
    all.filter((path) => !loaded.includes(path)),
  ].map(measure);
  if (scripts.files === 0) throw new Error('the first load loaded no script');
  const whole = [scripts, styles, fonts].reduce(add);
  return [
    '### First load',
    'The start page with its first rows, nothing cached. "Wire" is what is sent: brotli, but for fonts, which are compressed already (kB = 1,000 bytes).',
    markdownTable(
      ['', 'files:', 'wire:', 'plain:', 'goal'],
      [
        row('scripts', scripts, none),
        row('styles', styles, none),
        row('fonts', fonts, none),
        row('the first load in all', whole, goal('≤ 250 kB', whole.wire <= goalBytes)),
        row('loaded when the page rests, or when used', later, none),
      ],
    ),
  ].join('\n\n');
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

function add(one, other) {
  return {
    files: one.files + other.files,
    wire: one.wire + other.wire,
    plain: one.plain + other.plain,
  };
}

function row(name, { files, wire, plain }, cell) {
  return [name, files, kilobytes(wire), kilobytes(plain), cell];
}

function kilobytes(bytes) {
  return `${(bytes / 1000).toFixed(0)} kB`;
}
