// npm run shots: takes pictures of every view of the console on the demo's data, in light and dark and at three widths,
// and puts them on contact sheets in .cache/shots: index.html, and a PNG for each width and theme.
// npm run shots -- dlq endpoints              only the views whose names begin so
// npm run shots -- --width 390 --theme dark   only these
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { launchChromium } from '../bench/lib/chromium.mjs';
import { root } from './program.mjs';
import { views } from './shots-views.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { width: { type: 'string' }, theme: { type: 'string' } },
});

/** The sizes of the window, and how wide a picture is on the sheet. */
const sizes = [
  { width: 1440, height: 900, onSheet: 640 },
  { width: 1024, height: 768, onSheet: 512 },
  { width: 390, height: 844, onSheet: 260 },
];
const themes = ['light', 'dark'];

const folder = join(root, '.cache', 'shots');
/** The data stays, so that only the first run has to store it. */
const dataDir = join(folder, 'data');
const sheetWidth = 2640;
const patience = 60_000;
/** Whatever stands for something that is still to come. */
const unready = '[aria-busy="true"], .bone';

const wantedSizes = sizes.filter(({ width }) => [undefined, `${width}`].includes(values.width));
const wantedThemes = themes.filter((theme) => [undefined, theme].includes(values.theme));
const wantedViews = views.filter(
  ({ name }) => positionals.length === 0 || positionals.some((start) => name.startsWith(start)),
);

await mkdir(folder, { recursive: true });
const demo = await startDemo();
try {
  const browser = await launchChromium();
  try {
    for (const size of wantedSizes) {
      for (const theme of wantedThemes) await takePictures(browser, size, theme);
    }
    await writeSheets(browser);
  } finally {
    await browser.close();
  }
} finally {
  await demo.stop();
}

/** Starts the demo on a data folder of its own, and waits until its records and webhooks are there. */
async function startDemo() {
  const script = join(root, 'scripts', 'demo.mjs');
  const args = [script, '--limit', '600000', '--cold', '2001-01-20'];
  const child = spawn(process.execPath, args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, SVC_DATA_DIR: dataDir, SVC_PORT: '0', SVC_RATE_LIMIT: '0' },
  });
  const ended = once(child, 'exit');
  await new Promise((resolve, reject) => {
    let output = '';
    child.once('exit', () => reject(new Error(`the demo did not start:\n${output}`)));
    child.stdout.setEncoding('utf8').on('data', (text) => {
      output += text;
      if (output.includes('incidents reported')) resolve();
    });
  });
  const { url } = JSON.parse(await readFile(join(dataDir, 'service.json'), 'utf8'));
  const token = (await readFile(join(dataDir, 'admin-token'), 'utf8')).trim();
  await addMore({ url, token });
  return {
    url,
    token,
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** What the demo leaves out: export jobs, a verification, a version, a saved view, and a bulk retry that somebody paused. */
async function addMore(service) {
  const { data } = await call(service, 'GET', '/exports');
  if (data.length === 0) {
    const jobs = {
      csv: { tenant: 'TX', month: '2001-01' },
      parquet: { tenant: 'CA', from: '2001-01-01', to: '2001-01-14' },
      ndjson: { tenant: 'AK' },
    };
    for (const [format, body] of Object.entries(jobs)) {
      await call(service, 'POST', `/exports/${format}`, body);
    }
    await call(service, 'POST', '/retention/verify', {});
    const version = { tenant: 'TX', dataset: 'training', name: 'texas-q1' };
    await call(service, 'POST', '/enrichment/dataset-versions', version);
    const view = { address: '#/records?tenant=TX&kind=departure', shared: true };
    await call(service, 'PUT', '/views/Departures%20of%20Texas', view);
    const { id } = await call(service, 'POST', '/webhook/dlq/retry', { rate: 1 });
    await call(service, 'PATCH', `/webhook/dlq/retries/${id}`, { state: 'paused' });
  }
}

async function call({ url, token }, method, path, body) {
  const response = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      prefer: 'respond-async',
      ...(body && { 'content-type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${method} ${path}: ${answer.detail} (${answer.code})`);
  return answer;
}

/** Takes the pictures of one width and theme. A view that cannot be reached is named, and the others go on. */
async function takePictures(browser, { width, height }, colorScheme) {
  const pictures = join(folder, `${width}-${colorScheme}`);
  await mkdir(pictures, { recursive: true });
  const context = await browser.newContext({
    baseURL: demo.url,
    viewport: { width, height },
    colorScheme,
    reducedMotion: 'reduce',
    timezoneId: 'UTC',
  });
  context.setDefaultTimeout(patience);
  for (const view of wantedViews) {
    const page = await context.newPage();
    try {
      await show(page, view);
      await page.screenshot({ path: join(pictures, `${view.name}.png`) });
    } catch (error) {
      process.stderr.write(`${width} ${colorScheme} ${view.name}: ${error.message}\n`);
      process.exitCode = 1;
    }
    await page.close();
  }
  await context.close();
  process.stdout.write(`${width} ${colorScheme}: ${wantedViews.length} views\n`);
}

/** Opens a view and waits until it has what it shows. */
async function show(page, { place, isSignedOut = false, prepare }) {
  await page.clock.install();
  await page.goto(`/#${place}`);
  const field = page.getByLabel('Access token', { exact: true });
  await field.or(page.locator('main#page')).first().waitFor();
  if (!isSignedOut && (await field.isVisible())) {
    await field.fill(demo.token);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.locator('main#page').waitFor();
  }
  await settle(page);
  await prepare?.(page);
  await settle(page);
}

/** Waits until fonts are loaded, no request is under way, and nothing stands for what is still to come. */
async function settle(page) {
  await page.waitForLoadState('networkidle');
  await page.locator(unready).first().waitFor({ state: 'detached' });
  await page.evaluate('document.fonts.ready');
}

/** Writes the sheets of all pictures that are there, also those of earlier runs. */
async function writeSheets(browser) {
  const sheets = [];
  for (const size of sizes) {
    for (const theme of themes) sheets.push(await sheetOf(size, theme));
  }
  const index = join(folder, 'index.html');
  await writeFile(index, documentOf(sheets.join('\n')));
  const page = await browser.newPage({ viewport: { width: sheetWidth, height: 1000 } });
  page.setDefaultTimeout(patience);
  await page.goto(`file://${index}`);
  for (const { width } of wantedSizes) {
    for (const theme of wantedThemes) {
      const path = join(folder, `sheet-${width}-${theme}.png`);
      await page.locator(`#s${width}-${theme}`).screenshot({ path });
    }
  }
  process.stdout.write(`${index}\n`);
}

/** The part of the sheet with all pictures of one width and theme, in the order of the views. */
async function sheetOf({ width, onSheet }, theme) {
  const name = `${width}-${theme}`;
  const files = await readdir(join(folder, name)).catch(() => []);
  const figures = views
    .filter((view) => files.includes(`${view.name}.png`))
    .map((view) => {
      const source = `${name}/${view.name}.png`;
      return `<a href="${source}"><img src="${source}" width="${onSheet}" alt="">${view.name}</a>`;
    });
  return `<section id="s${name}"><h2>${width} px, ${theme}</h2>${figures.join('\n')}</section>`;
}

function documentOf(body) {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Views of the console</title>
<style>
  body { margin: 0; font: 14px sans-serif; background: #777; }
  section { display: flex; flex-wrap: wrap; gap: 12px; padding: 12px; }
  h2 { width: 100%; margin: 0; }
  a { color: #000; text-decoration: none; }
  img { display: block; height: auto; }
</style>
${body}
</html>
`;
}
