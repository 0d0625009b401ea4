import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { launchBrowser, patient, treeNode, useConsole } from './lib/browser.ts';
import { startFilled } from './lib/filled-service.ts';

const filled = useConsole(startFilled);

const assets = fileURLToPath(new URL('../../packages/console/dist/assets/', import.meta.url));

/** What the page has loaded so far, with the bytes that came over the wire. */
const readLoaded = `performance.getEntriesByType('resource').map((entry) => ({
  path: new URL(entry.name).pathname,
  bytes: entry.encodedBodySize,
}))`;

/** The page after sign-in, and the one that most links lead to, each with what it may take. */
const starts = {
  OVERVIEW: {
    place: '/#/',
    shown: (page: Page) => page.getByText('3,400', { exact: true }).first(),
    most: 230_000,
  },
  RECORDS: { place: '/#/records', shown: (page: Page) => treeNode(page, 'TX'), most: 256_000 },
};

test.each(['OVERVIEW', 'RECORDS'] as const)(
  'the first load of %s takes few bytes over the wire, fonts and all',
  async (name) => {
    const { place, shown, most } = starts[name];
    const page = await filled.open('/records');
    // The session is there, but nothing is cached yet.
    const browser = await launchBrowser();
    const fresh = await browser.newContext({
      baseURL: filled.service.url,
      viewport: { width: 1440, height: 900 },
      storageState: await page.context().storageState(),
    });
    const first = await fresh.newPage();
    // A page in the background loads nothing ahead, which would not belong to the first load.
    await first.addInitScript("Object.defineProperty(document, 'hidden', { get: () => true });");
    await first.goto(place);
    await shown(first).waitFor(patient);
    await first.evaluate('document.fonts.ready');
    const loaded = await first.evaluate<{ path: string; bytes: number }[]>(readLoaded);
    const files = loaded.filter(({ path }) => path.startsWith('/assets/'));
    expect(files.length).toBeGreaterThan(5);
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    expect(bytes).toBeLessThanOrEqual(most);
    await fresh.close();
  },
);

test('the pages and dialogs that may be opened next are loaded while the first one rests', async () => {
  const page = await filled.open('/records');
  const isDone = async () => {
    const loaded = await page.evaluate<{ path: string }[]>(readLoaded);
    return ['key-help', 'ask-token', 'deliveries-page'].every((name) =>
      loaded.some(({ path }) => path.startsWith(`/assets/${name}-`)),
    );
  };
  await expect.poll(isDone, patient).toBe(true);
});

test('every class of Mantine in the scripts has its styles, and there are no others', async () => {
  const require = createRequire(new URL('../../packages/console/package.json', import.meta.url));
  const all = await readFile(require.resolve('@mantine/core/styles.layer.css'), 'utf8');
  const known = classesOf(all);
  const readAssets = async (end: string) => {
    const names = (await readdir(assets)).filter((name) => name.endsWith(end));
    return Promise.all(names.map((name) => readFile(assets + name, 'utf8')));
  };
  const styled = classesOf((await readAssets('.css')).join(''));
  const used = classesOf((await readAssets('.js')).join(''));
  const expected = [...used].filter((name) => known.has(name)).sort();
  expect(expected.length).toBeGreaterThan(50);
  expect([...styled].filter((name) => known.has(name)).sort()).toEqual(expected);
});

/** Mantine names its classes by a hash. */
function classesOf(text: string): Set<string> {
  return new Set(text.match(/\bm_[0-9a-f]{6,8}\b/g));
}

test('a page says what it is before its scripts are there', async () => {
  const page = await filled.open('/records');
  await page.route('**/assets/*.js', () => {});
  await page.reload({ waitUntil: 'commit' });
  await page.getByText('svcctl', { exact: true }).waitFor();
  await page.unroute('**/assets/*.js');
  await page.reload();
  await treeNode(page, 'TX').waitFor(patient);
  expect(await page.locator('#first-paint').count()).toBe(0);
});

test('a page has the theme that was chosen before its scripts are there, whatever the system has', async () => {
  const page = await filled.open('/records');
  const ink = () =>
    page.evaluate<string>(`getComputedStyle(document.getElementById('first-paint')).color`);
  await page.route('**/assets/*.{js,css}', () => {});
  const chosen = { light: 'rgb(0, 0, 0)', dark: 'rgb(255, 255, 255)' } as const;
  for (const [theme, text] of Object.entries(chosen)) {
    await page.emulateMedia({ colorScheme: theme === 'dark' ? 'light' : 'dark' });
    await page.evaluate(`localStorage.setItem('svcctl.theme', '${theme}')`);
    await page.reload({ waitUntil: 'commit' });
    await page.getByText('svcctl', { exact: true }).waitFor();
    expect(await ink()).toBe(text);
  }
  await page.unroute('**/assets/*.{js,css}');
  await page.reload();
  await treeNode(page, 'TX').waitFor(patient);
  expect(await page.evaluate('document.documentElement.dataset.mantineColorScheme')).toBe('dark');
});

test('a page says what it is before its styles are there, and shows nothing else without them', async () => {
  const page = await filled.open('/records');
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route('**/assets/*.css', async (route) => {
    await held;
    await route.continue();
  });
  await page.reload({ waitUntil: 'commit' });
  const isPainted = `performance.getEntriesByName('first-contentful-paint').length > 0 &&
    performance.getEntriesByType('resource').some(({ name }) => name.endsWith('.js'))`;
  await expect.poll(() => page.evaluate(isPainted), patient).toBe(true);
  await page.getByText('svcctl', { exact: true }).waitFor();
  expect(await page.locator('#root > *').count()).toBe(1);
  release();
  await treeNode(page, 'TX').waitFor(patient);
  expect(await page.locator('#first-paint').count()).toBe(0);
  await page.unroute('**/assets/*.css');
});
