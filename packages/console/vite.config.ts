import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import subsetFont from 'subset-font';
import { defineConfig, type Plugin } from 'vite';

const fonts = [
  // The console's figures are of one width. The ligatures of a mono would change how an id reads.
  { name: 'inter', features: ['kern', 'tnum'] },
  { name: 'jetbrains-mono', features: [] },
];

/**
 * Printable ASCII and Latin-1, and the punctuation of the console's own texts. Of the arrows the packages' files have only
 * those up and down.
 */
const letters = [
  [0x20, 0x7e],
  [0xa0, 0xff],
  [0x2010, 0x203a],
  [0x2191, 0x2191],
  [0x2193, 0x2193],
  [0x20ac, 0x20ac],
  [0x2212, 0x2212],
] as const;

/**
 * Writes the fonts with the letters, weights and features that the console uses into `.fonts`: 34 kB, of which the
 * packages' own files for Latin text take 89.
 */
const subsetFonts: Plugin = {
  name: 'subset-fonts',
  async buildStart() {
    const folder = new URL('.fonts/', import.meta.url);
    await mkdir(folder, { recursive: true });
    const text = letters.map(([first, last]) => textOf(first, last)).join('');
    for (const { name, features } of fonts) {
      const source = `@fontsource-variable/${name}/files/${name}-latin-wght-normal.woff2`;
      const made = await subsetFont(
        await readFile(fileURLToPath(import.meta.resolve(source))),
        text,
        {
          targetFormat: 'woff2',
          variationAxes: { wght: { min: 400, max: 600 } },
          keepFeatures: features,
        },
      );
      await writeFile(new URL(`${name}.woff2`, folder), made);
    }
  },
};

function textOf(first: number, last: number): string {
  return String.fromCodePoint(...Array.from({ length: last - first + 1 }, (_, i) => first + i));
}

/**
 * Leaves out of the first load what filters say of themselves in the help of the command line, and what is in lists that a
 * page does not use: to read either changes nothing.
 */
const withoutUnread: Plugin = {
  name: 'without-unread',
  enforce: 'pre',
  transform: {
    filter: { id: /\/server\/src\/.*\/(view|values)\.ts$/ },
    handler: (code, id) => ({
      code: id.endsWith('view.ts')
        ? code
            .replace(/\b(help|value):\s*'(?!id')[^'\n]*',?/g, '')
            .replace(/(day|time)Filters\(\s*'[^'\n]*',?\s*\)/g, "$1Filters('')")
        : code,
      moduleSideEffects: false,
    }),
  },
};

/** Colours of Mantine that the console has no use for; its defaults name blue and teal. */
const unusedColours = '(?:pink|grape|violet|indigo|cyan|lime|yellow|orange|green)';

/** Leaves the variables of these colours out of the styles: 1.2 kB over the wire. */
const withoutUnusedColours: Plugin = {
  name: 'without-unused-colours',
  generateBundle: {
    // The styles are one asset, which is there only then.
    order: 'post',
    handler(_options, bundle) {
      for (const asset of Object.values(bundle)) {
        if (asset.type !== 'asset' || !asset.fileName.endsWith('.css')) continue;
        const declared = new RegExp(`--mantine-color-${unusedColours}-[\\w-]+:[^;}]+;?`, 'g');
        asset.source = String(asset.source).replace(declared, '');
        const used = new RegExp(`var\\(--mantine-color-${unusedColours}-[\\w-]+`).exec(
          asset.source,
        );
        if (used !== null) this.error(`${used[0]}) is used, but left out`);
      }
    },
  },
};

/** The browser fetches the text's font together with the styles that name it, not after them. */
const preloadFont: Plugin = {
  name: 'preload-font',
  transformIndexHtml: {
    order: 'post',
    handler: (_html, { bundle }) =>
      Object.keys(bundle ?? {})
        .filter((name) => /inter-[^/]*\.woff2$/.test(name))
        .map((name) => ({
          tag: 'link',
          attrs: {
            rel: 'preload',
            as: 'font',
            type: 'font/woff2',
            href: `/${name}`,
            crossorigin: '',
          },
          injectTo: 'head',
        })),
  },
};

/**
 * A browser shows what stands before a style sheet while that comes: over a slow line, the name a second earlier. Scripts of
 * the page wait for the sheet also there, so nothing else is seen without its styles.
 */
const sheetBehindName: Plugin = {
  name: 'sheet-behind-name',
  transformIndexHtml: {
    order: 'post',
    handler: (html) =>
      html.replace(/\s*(<link rel="stylesheet"[^>]*>)(.*<div id="root">.*?<\/div>)/s, '$2\n    $1'),
  },
};

/**
 * What tells the classes of a style sheet from those of the others. Vite's own adds the number of the line, which no other
 * class has and nothing compresses.
 */
const shortHash = (path: string): string =>
  createHash('sha256')
    .update(relative(import.meta.dirname, path))
    .digest('hex')
    .slice(0, 5);

export default defineConfig({
  plugins: [
    withoutUnread,
    react(),
    subsetFonts,
    preloadFont,
    sheetBehindName,
    withoutUnusedColours,
  ],
  build: {
    target: 'es2022',
    // The policy of the service allows no inline script but that of the page, and the browsers we serve know modulepreload.
    modulePreload: { polyfill: false },
    // What is inlined cannot be cached by itself.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 800,
    // One file: a script that is loaded again after an outage would not bring its styles along again.
    cssCodeSplit: false,
  },
  css: { modules: { generateScopedName: (name, path) => `${name}_${shortHash(path)}` } },
  server: { proxy: { '/api': 'http://127.0.0.1:8080' } },
});
