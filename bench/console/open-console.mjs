import { launchChromium } from '../../e2e/console/lib/chromium.mjs';
import { noteFirstRows } from './in-page.mjs';

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
export async function watchFirstRows(page, selector) {
  await page.addInitScript(noteFirstRows, selector);
}

export async function firstRowsMillis(page) {
  const noted = await page.waitForFunction(() => window.firstRowsMillis);
  return noted.jsonValue();
}

/** Waits until so many nodes are visible: the list is as high as all of them. */
export async function untilVisible(page, count) {
  await page.waitForFunction(
    (wanted) => document.querySelector('[role="tree"]')?.clientHeight === wanted * 32,
    count,
  );
}

/** Scrolls the tree so that the node at this position is the topmost. */
export async function scrollTo(page, position) {
  await page.evaluate((top) => {
    document.querySelector('[role="tree"]').parentElement.scrollTop = top;
  }, position * 32);
}
