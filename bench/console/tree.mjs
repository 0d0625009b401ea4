import { percentile } from '../lib/measure.mjs';
import { formatCount, formatMillis, goal, markdownTable, none, section } from '../lib/table.mjs';
import { storeName, tenantName } from '../records/leaves.mjs';
import { clickMillis, openMany, scrollTo } from './browser.mjs';

/** Opening and closing nodes, from the click to the paint; then the same with 100,000 visible nodes. */
export async function benchToggle({ scope, browser, sizes, say }) {
  const few = await browser.openPage(scope);
  await few.goto('/#/records');
  await few.getByRole('treeitem').first().waitFor();
  say('toggle: few nodes open');
  const withFew = await toggleFew(few, sizes);
  await few.close();

  const many = await browser.openPage(scope);
  const visible = await openMany(many, sizes, say);
  const withMany = await toggleMany(many, sizes);
  const rowsOf = (where, taken) =>
    taken.map(([name, times]) => {
      const [p50, worst] = [percentile(times, 0.5), Math.max(...times)];
      return [
        ...[where, name, times.length, formatMillis(p50), goal('< 100 ms', p50)],
        ...[formatMillis(percentile(times, 0.95)), formatMillis(worst), goal('< 100 ms', worst)],
      ];
    });
  return section(
    'Opening and closing',
    `From the click to the paint of what it brings, its request included. "Many" has ${formatCount(sizes.openStores)} open stores and ${formatCount(visible)} visible nodes.`,
    markdownTable(
      ['open', '', 'times:', 'median:', 'goal', 'p95:', 'worst:', 'goal'],
      [...rowsOf('few', withFew), ...rowsOf('many', withMany)],
    ),
  );
}

/** Tenants and stores that were never open, so that each is a request; and closed again. */
async function toggleFew(page, { leaves, toggles }) {
  const tenants = [];
  for (let i = 0; i < leaves.tenants; i += 1) {
    await scrollTo(page, i);
    tenants.push(await toggle(page, tenantName(i), true));
    await toggle(page, tenantName(i), false);
  }
  await scrollTo(page, 0);
  await toggle(page, tenantName(0), true);
  // The record set's tenant and the store's own stand above.
  const place = { tenant: tenantName(0), above: 1 };
  return [
    [`open a tenant: ${formatCount(leaves.stores)} stores`, tenants],
    ...(await toggleStores(page, place, Math.min(toggles, leaves.stores), leaves)),
  ];
}

/** The first stores of a tenant, of which each is opened, closed, and opened again. */
async function toggleStores(page, { tenant, above }, count, { months }) {
  const times = { opened: [], closed: [], again: [] };
  for (let i = 0; i < count; i += 1) {
    await scrollTo(page, above + i);
    const key = `${tenant}/${storeName(i)}`;
    times.opened.push(await toggle(page, key, true));
    times.closed.push(await toggle(page, key, false));
    times.again.push(await toggle(page, key, true));
    await toggle(page, key, false);
  }
  return [
    [`open a store: ${formatCount(months)} months`, times.opened],
    ['close it', times.closed],
    ['open it again, already read', times.again],
  ];
}

/** In the last open tenant: its first stores are closed. Above it lie all the others. */
async function toggleMany(page, sizes) {
  const { leaves, openStores, toggles } = sizes;
  const { stores, months } = leaves;
  const full = Math.ceil(openStores / stores) - 1;
  const above = 1 + full * (1 + stores + stores * months);
  const openInLast = openStores - full * stores;
  const count = Math.min(toggles, stores - openInLast - 1);
  const rows = await toggleStores(page, { tenant: tenantName(full), above }, count, leaves);
  const first = { closed: [], opened: [] };
  // What was open inside closes with it, so that each time begins with the link.
  for (let i = 0; i < Math.min(10, toggles); i += 1) {
    await openMany(page, sizes);
    await scrollTo(page, 0);
    first.closed.push(await toggle(page, tenantName(0), false));
    first.opened.push(await toggle(page, tenantName(0), true));
  }
  const open = formatCount(Math.min(stores, openStores));
  return [
    ...rows,
    [`close a tenant with ${open} open stores`, first.closed],
    ['open it again, its stores closed', first.opened],
  ];
}

/** Clicks the toggle of a node on the screen; milliseconds until its new state and what follows are painted. */
async function toggle(page, key, isOpen) {
  const row = `[data-key="${key}"]`;
  const state = `${row}[aria-expanded="${isOpen}"]`;
  const level = key.split('/').length + 1;
  // Once it is open, a node of the next level below it; a skeleton has no key.
  const child = `[data-key^="${key}/"][data-level="${level}"]`;
  const selector = isOpen ? `body:has(${state}):has(${child}) ${state}` : state;
  await page.locator(row).waitFor();
  return clickMillis(page, `${row} [data-toggle]`, selector);
}

const speeds = [2000, 8000, 20_000];

/** Frames while the tree scrolls by gesture, against those of the same page at rest. */
export async function benchScroll({ scope, browser, sizes, say }) {
  const page = await browser.openPage(scope);
  const visible = await openMany(page, sizes, say);
  const input = await page.context().newCDPSession(page);
  const rest = await countFrames(page, () => page.waitForTimeout(2000));
  const rows = [['at rest', ...cellsOf(rest), none]];
  for (const speed of speeds) {
    say(`scroll: ${formatCount(speed)} px/s`);
    const distance = Math.min(sizes.scrollPx, speed * 5);
    const frames = await countFrames(page, () => scrollBy(page, input, distance, speed));
    const name = `${formatCount(speed)} px/s`;
    rows.push([name, ...cellsOf(frames), goal('≥ 50', frames.perSecond)]);
  }
  return section(
    'Scrolling',
    `A wheel gesture over the tree with ${formatCount(visible)} visible nodes; frames as the page gets them.`,
    markdownTable(['', 'frames/s:', 'p95 of a frame:', 'longest:', 'goal'], rows),
  );
}

async function scrollBy(page, input, distance, speed) {
  const { x, y } = await page.evaluate(() => {
    const box = document.querySelector('[role="tree"]').parentElement.getBoundingClientRect();
    return { x: box.x + 100, y: box.y + 300 };
  });
  const scrolled = () =>
    page.evaluate(() => document.querySelector('[role="tree"]').parentElement.scrollTop);
  const before = await scrolled();
  await input.send('Input.synthesizeScrollGesture', {
    x,
    y,
    yDistance: -distance,
    speed,
    gestureSourceType: 'mouse',
  });
  const moved = (await scrolled()) - before;
  if (moved < distance / 2) throw new Error(`scrolled ${moved} of ${distance} px`);
}

async function countFrames(page, work) {
  await page.evaluate(startFrames);
  await work();
  const times = await page.evaluate(stopFrames);
  const gaps = times.slice(1).map((time, i) => time - times[i]);
  return {
    perSecond: (gaps.length * 1000) / (times.at(-1) - times[0]),
    p95: percentile(gaps, 0.95),
    longest: Math.max(...gaps),
  };
}

function cellsOf({ perSecond, p95, longest }) {
  return [perSecond.toFixed(1), formatMillis(p95), formatMillis(longest)];
}

// What runs inside the page. Each is sent to the browser as text, so none may use anything from around it.

/** The times of all frames from now on, until `stopFrames`. */
function startFrames() {
  const times = [];
  window.frameTimes = times;
  const frame = (time) => {
    if (window.frameTimes !== times) return;
    times.push(time);
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}

function stopFrames() {
  const times = window.frameTimes;
  window.frameTimes = undefined;
  return times;
}
