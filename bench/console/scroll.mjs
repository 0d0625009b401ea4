import { percentile } from '../lib/stats.mjs';
import { formatCount, formatMillis, goal, markdownTable, none } from '../lib/table.mjs';
import { startFrames, stopFrames } from './in-page.mjs';
import { openMany } from './toggle.mjs';

const goalFrames = 50;
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
    rows.push([name, ...cellsOf(frames), goal('≥ 50', frames.perSecond >= goalFrames)]);
  }
  return [
    '### Scrolling',
    `A wheel gesture over the tree with ${formatCount(visible)} visible nodes; frames as the page gets them.`,
    markdownTable(['', 'frames/s:', 'p95 of a frame:', 'longest:', 'goal'], rows),
  ].join('\n\n');
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
