import { launchChromium } from '../lib/chromium.mjs';
import { formatCount } from '../lib/table.mjs';
import { storeName, tenantName } from '../records/leaves.mjs';

const viewport = { width: 1440, height: 900 };
/** Only a fault ever waits for all of it. */
const timeout = 60_000;

/** One browser for the whole run, its console signed in. */
export async function startBrowser(scope, service) {
  const browser = await launchChromium();
  scope.defer(() => browser.close());
  const first = await browser.newContext({ baseURL: service.origin, viewport });
  const page = await first.newPage();
  await page.goto('/#/sign-in');
  await page.getByLabel('Access token').fill(service.token);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.locator('main#page').waitFor({ timeout });
  const storageState = await first.storageState();
  await first.close();
  return {
    version: browser.version(),
    /** A page of a fresh profile: nothing cached, but signed in. */
    async openPage(own, origin = service.origin) {
      const context = await browser.newContext({ baseURL: origin, viewport, storageState });
      own.defer(() => context.close());
      context.setDefaultTimeout(timeout);
      return context.newPage();
    },
  };
}

/** Has every navigation of the page note its first rows, to be read by `firstRowsMillis`. */
export const watchFirstRows = (page, selector) =>
  page.addInitScript(notePaint, { name: 'firstRowsMillis', selector, isClick: false });

export const firstRowsMillis = (page) => notedMillis(page, 'firstRowsMillis');

/** Clicks; milliseconds from the click until something is painted. */
export async function clickMillis(page, target, selector) {
  await page.evaluate(notePaint, { name: 'clickedMillis', selector, isClick: true });
  await page.locator(target).click();
  return notedMillis(page, 'clickedMillis');
}

async function notedMillis(page, name) {
  const noted = await page.waitForFunction((noted) => window[noted], name);
  return noted.jsonValue();
}

/** Waits until so many nodes are visible: the list is as high as all of them, and those on the screen have figures. */
export async function untilVisible(page, count) {
  await page.waitForFunction((wanted) => {
    const tree = document.querySelector('[role="tree"]');
    return tree?.clientHeight === wanted * 32 && tree.querySelector('[aria-busy]') === null;
  }, count);
}

/** Scrolls the tree so that the node at this position is the topmost. */
export async function scrollTo(page, position) {
  await page.evaluate((top) => {
    document.querySelector('[role="tree"]').parentElement.scrollTop = top;
  }, position * 32);
}

/**
 * A link with so many open stores, and how many nodes it makes visible. The last tenant's first stores
 * stay closed.
 */
function manyOpen({ leaves, openStores }) {
  const { tenants, stores, months } = leaves;
  const parts = [];
  for (let left = openStores, t = 0; left > 0; left -= stores, t += 1) {
    const from = stores - Math.min(left, stores);
    const names = Array.from({ length: stores - from }, (_, i) => storeName(from + i));
    parts.push([tenantName(t), ...names].join('/'));
  }
  return {
    place: `/#/records?open=${encodeURIComponent(parts.join('//'))}`,
    // One tenant more than the generated ones: that of the records.
    visible: 1 + tenants + parts.length * stores + openStores * months,
  };
}

/** Opens the page by a link with so many open stores; answers how many nodes are visible. */
export async function openMany(page, sizes, say = (_text) => {}) {
  const { place, visible } = manyOpen(sizes);
  say(`opening ${formatCount(sizes.openStores)} stores by a link`);
  await page.goto(place);
  await untilVisible(page, visible);
  return visible;
}

// What runs inside the page. Each is sent to the browser as text, so none may use anything from around it.

/**
 * Has the page note in `window[name]` how long it takes until something is there and painted: from the start of the
 * navigation, or, with `isClick`, from the next click's own time.
 */
function notePaint({ name, selector, isClick }) {
  const notes = /** @type {any} */ (window);
  notes[name] = undefined;
  let since = isClick ? undefined : 0;
  if (isClick) {
    addEventListener(
      'click',
      (event) => {
        since = event.timeStamp;
      },
      { capture: true, once: true },
    );
  }
  const look = () => {
    if (since === undefined || document.querySelector(selector) === null) {
      return requestAnimationFrame(look);
    }
    // The paint follows the frame's callbacks; what is posted here runs after it.
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      notes[name] = performance.now() - since;
    };
    port2.postMessage(null);
  };
  requestAnimationFrame(look);
}
