import { percentile } from '../lib/stats.mjs';
import { formatCount, formatMillis, goal, markdownTable } from '../lib/table.mjs';
import { noteClick } from './in-page.mjs';
import { scrollTo, untilVisible } from './open-console.mjs';
import { manyOpen, storeName, tenantName } from './sizes.mjs';

const goalMillis = 100;

/** Opening and closing nodes, from the click to the paint; then the same with 100,000 visible nodes. */
export async function benchToggle({ scope, browser, sizes, say }) {
  const few = await browser.openPage(scope);
  await few.goto('/#/records');
  await few.getByRole('treeitem').first().waitFor();
  say('toggle: few nodes open');
  const rows = await toggleFew(few, sizes);
  await few.close();

  const many = await browser.openPage(scope);
  const visible = await openMany(many, sizes, say);
  const last = await toggleMany(many, sizes);
  return report(rows, last, { visible, sizes });
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
  const opened = [];
  const closed = [];
  const again = [];
  for (let i = 0; i < Math.min(toggles, leaves.stores); i += 1) {
    // The record set's tenant and the store's own stand above.
    await scrollTo(page, 1 + i);
    const key = `${tenantName(0)}/${storeName(i)}`;
    opened.push(await toggle(page, key, true));
    closed.push(await toggle(page, key, false));
    again.push(await toggle(page, key, true));
    await toggle(page, key, false);
  }
  return [
    [`open a tenant: ${formatCount(leaves.stores)} stores`, tenants],
    [`open a store: ${formatCount(leaves.months)} months`, opened],
    ['close it', closed],
    ['open it again, already read', again],
  ];
}

/** Opens the page by a link with so many open stores; answers how many nodes are visible. */
export async function openMany(page, sizes, say) {
  const { place, visible } = manyOpen(sizes);
  say(`opening ${formatCount(sizes.openStores)} stores by a link`);
  await page.goto(place);
  await untilVisible(page, visible);
  return visible;
}

/** In the last open tenant: its first stores are closed. Above it lie all the others. */
async function toggleMany(page, sizes) {
  const { leaves, openStores, toggles } = sizes;
  const { stores, months } = leaves;
  const full = Math.ceil(openStores / stores) - 1;
  const above = 1 + full * (1 + stores + stores * months);
  const tenant = tenantName(full);
  const openInLast = openStores - full * stores;
  const count = Math.min(toggles, stores - openInLast - 1);
  const opened = [];
  const closed = [];
  const again = [];
  for (let i = 0; i < count; i += 1) {
    await scrollTo(page, above + i);
    const key = `${tenant}/${storeName(i)}`;
    opened.push(await toggle(page, key, true));
    closed.push(await toggle(page, key, false));
    again.push(await toggle(page, key, true));
    await toggle(page, key, false);
  }
  const tenants = await toggleFirstTenant(page, sizes);
  return [
    [`open a store: ${formatCount(months)} months`, opened],
    ['close it', closed],
    ['open it again, already read', again],
    [
      `close a tenant with ${formatCount(Math.min(stores, openStores))} open stores`,
      tenants.closed,
    ],
    ['open it again, its stores closed', tenants.opened],
  ];
}

/** What was open inside closes with it, so that each time begins with the link. */
async function toggleFirstTenant(page, sizes) {
  const closed = [];
  const opened = [];
  const { place, visible } = manyOpen(sizes);
  for (let i = 0; i < Math.min(10, sizes.toggles); i += 1) {
    await page.goto(place);
    await untilVisible(page, visible);
    await scrollTo(page, 0);
    closed.push(await toggle(page, tenantName(0), false));
    opened.push(await toggle(page, tenantName(0), true));
  }
  return { closed, opened };
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
  await page.evaluate(noteClick, selector);
  await page.locator(`${row} [data-toggle]`).click();
  const noted = await page.waitForFunction(() => window.clickedMillis);
  return noted.jsonValue();
}

function report(few, many, { visible, sizes }) {
  const row = (where) =>
    function cells([name, times]) {
      const p50 = percentile(times, 0.5);
      const worst = Math.max(...times);
      return [
        where,
        name,
        times.length,
        formatMillis(p50),
        goal('< 100 ms', p50 < goalMillis),
        formatMillis(percentile(times, 0.95)),
        formatMillis(worst),
        goal('< 100 ms', worst < goalMillis),
      ];
    };
  return [
    '### Opening and closing',
    `From the click to the paint of what it brings, its request included. "Many" has ${formatCount(sizes.openStores)} open stores and ${formatCount(visible)} visible nodes.`,
    markdownTable(
      ['open', '', 'times:', 'median:', 'goal', 'p95:', 'worst:', 'goal'],
      [...few.map(row('few')), ...many.map(row('many'))],
    ),
  ].join('\n\n');
}
