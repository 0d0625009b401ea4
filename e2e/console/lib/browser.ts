import type {
  Browser,
  BrowserContext,
  BrowserContextOptions,
  Locator,
  Page,
} from 'playwright-core';
import { afterEach, expect } from 'vitest';
import { launchChromium } from '../../../bench/lib/chromium.mjs';
import { use } from '../../../packages/server/test/use.ts';
import type { Service } from '../../lib/installation.ts';

export type PageOptions = BrowserContextOptions & {
  initScripts?: readonly string[];
  /** Errors in the browser's console that the test causes itself. */
  expected?: readonly RegExp[];
  /** Whether the test moves the page's clock, such as to when what is shown is read again. */
  hasClock?: boolean;
};

/** After this time a page has read again what it shows. */
export const pollMillis = 16_000;

/** What a file's tests look at: a service, and pages of its console. */
export type Console = {
  /** Opens an empty page, as in a fresh profile. */
  openBlank(options?: PageOptions): Promise<Page>;
  /** Goes to a place of the console in an empty page, signed in, and waits until the console shows that place. */
  openIn(page: Page, place: string, token?: string): Promise<void>;
  /** The same in a new page; by the service's token, unless another one is given. */
  open(place: string, options?: PageOptions & { token?: string }): Promise<Page>;
  /** The same for a place with a list, which has rows. */
  openList(place: string, options?: PageOptions): Promise<Page>;
};

/** A generous time-out for what the browser does at once: only a fault ever waits until its end. */
export const patient = { timeout: 120_000 };

let launched: Promise<Browser> | undefined;

/**
 * The browser of all tests of this process, which ends with it. Pages of a profile share a process, which keeps what it
 * has compiled when a page begins anew.
 */
export function launchBrowser(): Promise<Browser> {
  launched ??= launchChromium(['--process-per-site']);
  return launched;
}

/**
 * A service that `start` makes for the tests of a file, and pages of its console. After each test its pages are left,
 * and the test fails if one of them sent a request to another host, broke the content security policy, or wrote errors
 * to the browser's console that the test did not expect.
 */
export function useConsole<S extends { service: Service; remove(): Promise<void> }>(
  start: () => Promise<S>,
): S & Console {
  let opened: OpenedPage[] = [];
  let kept: OpenedPage | undefined;
  const takeKept = async () => {
    const page = kept;
    kept = undefined;
    // A service that was started anew has another port.
    if (page?.url === shown.service.url) return page;
    await page?.context.close();
    return undefined;
  };
  const openBlank = async ({ expected = [], hasClock = false, ...options }: PageOptions = {}) => {
    const reused = isUsual(options) ? await takeKept() : undefined;
    const next = reused ?? (await openPage(await launchBrowser(), shown.service, options));
    opened.push(next);
    next.begin(expected);
    await next.page.setViewportSize(options.viewport ?? usualViewport);
    if (hasClock) await next.page.clock.install();
    return next.page;
  };
  const openIn = async (page: Page, place: string, token = shown.service.token) => {
    const isEmpty = page.url() === 'about:blank';
    if (isEmpty) {
      const { request } = page.context();
      const answer = await request.post('/api/v1/session', { data: { token } });
      expect(answer.status(), 'the session').toBe(200);
    }
    await page.goto(`/#${place}`);
    if (!isEmpty) await signIn(page, token);
    const tree = page.getByRole('tree');
    const parts = page.locator('main').locator('fieldset, h2, [role="group"]');
    await (place.startsWith('/records') ? tree : parts.filter({ visible: true }).first()).waitFor();
  };
  const shown: S & Console = use(
    async () => ({
      ...(await start()),
      openBlank,
      openIn,
      open: async (place, { token, ...options } = {}) => {
        const page = await openBlank(options);
        await openIn(page, place, token);
        return page;
      },
      openList: async (place, options) => {
        const page = await shown.open(place, options);
        await recordRows(page).first().waitFor();
        return page;
      },
    }),
    async (made) => {
      await kept?.context.close();
      kept = undefined;
      await made.remove();
    },
  );
  afterEach(async () => {
    const pages = opened;
    opened = [];
    for (const each of pages) {
      if (kept === undefined && each.isUnchanged()) {
        await leavePage(each);
        kept = each;
      } else await each.context.close();
    }
    for (const each of pages) each.expectQuiet();
  });
  return shown;
}

const usualViewport = { width: 1440, height: 900 };

/** Whether a page that was opened with other such options can be used again. */
function isUsual(options: PageOptions): boolean {
  return Object.keys(options).every((name) => name === 'viewport');
}

type OpenedPage = {
  readonly page: Page;
  readonly context: BrowserContext;
  /** The service that it shows. */
  readonly url: string;
  /** Listens to the page for a test. */
  begin(expected: readonly RegExp[]): void;
  /** Whether the next test can have it: it was opened as usual, and no other clock runs in it. */
  isUnchanged(): boolean;
  expectQuiet(): void;
};

async function openPage(
  browser: Browser,
  service: Service,
  { initScripts = [], ...contextOptions }: PageOptions,
): Promise<OpenedPage> {
  const context = await browser.newContext({
    baseURL: service.url,
    viewport: usualViewport,
    reducedMotion: 'reduce',
    locale: 'en-US',
    timezoneId: 'UTC',
    ...contextOptions,
  });
  context.setDefaultTimeout(patient.timeout);
  for (const content of initScripts) await context.addInitScript({ content });
  const page = await context.newPage();
  let isChanged = !isUsual({ ...contextOptions, ...(initScripts.length > 0 && { initScripts }) });
  const { clock } = page;
  Object.defineProperty(page, 'clock', {
    get() {
      isChanged = true;
      return clock;
    },
  });
  const foreign: string[] = [];
  const errors: string[] = [];
  let known: readonly RegExp[] = [];
  const own = new URL(service.url).host;
  return {
    page,
    context,
    url: service.url,
    begin(expected) {
      // The console asks once who is signed in, and that request fails while nobody is.
      known = [/401 \(Unauthorized\).*\/api\/v1\/me$/, ...expected];
      page.on('request', (request) => {
        const url = new URL(request.url());
        const isInside = url.protocol === 'data:' || url.protocol === 'blob:';
        if (!isInside && url.host !== own) foreign.push(request.url());
      });
      page.on('console', (message) => {
        if (message.type() === 'error') errors.push(`${message.text()} ${message.location().url}`);
      });
      page.on('pageerror', (error) => errors.push(`uncaught: ${error.message}`));
    },
    isUnchanged: () => !isChanged && !page.isClosed() && context.pages().length === 1,
    expectQuiet() {
      const unknown = errors.filter((error) => !known.some((pattern) => pattern.test(error)));
      const elsewhere = [...foreign];
      errors.length = 0;
      foreign.length = 0;
      expect(elsewhere, 'requests to another host').toEqual([]);
      expect(unknown).toEqual([]);
    },
  };
}

/** Makes a page as it would be in a fresh profile, but for what its process has compiled and loaded of the console. */
async function leavePage({ page, context, url }: OpenedPage): Promise<void> {
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await context.unrouteAll({ behavior: 'ignoreErrors' });
  if (page.url().startsWith(url)) await page.evaluate('sessionStorage.clear()');
  await page.mouse.move(0, 0);
  await page.emulateMedia({ colorScheme: null, forcedColors: null, media: null });
  await page.goto('about:blank');
  page.removeAllListeners();
  // Nothing writes here any more.
  const devtools = await context.newCDPSession(page);
  const cleared = { origin: url, storageTypes: 'local_storage' };
  await devtools.send('Storage.clearDataForOrigin', cleared);
  await devtools.detach();
  await context.clearCookies();
  await context.clearPermissions();
}

/** Signs in by the form that the page shows. */
export async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel('Access token').fill(token);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

/** The question that a destructive action asks of a session which has not confirmed lately. */
export function confirmDialog(page: Page): Locator {
  return page.getByRole('dialog', { name: 'Confirm with your access token' });
}

export async function confirm(page: Page, token: string): Promise<void> {
  await confirmDialog(page).getByLabel('Access token').fill(token);
  await confirmDialog(page).getByRole('button', { name: 'Confirm' }).click();
}

/** A node of the tree by the beginning of its name. */
export function treeNode(page: Page, name: string): Locator {
  return page.getByRole('treeitem', { name: new RegExp(`^${name}\\b`) });
}

/** Waits until so many nodes of the tree are visible, by the height of the list. */
export async function expectVisible(page: Page, count: number): Promise<void> {
  await expect
    .poll(
      () => page.evaluate<number>(`document.querySelector('[role="tree"]').offsetHeight / 32`),
      patient,
    )
    .toBe(count);
}

export function recordRows(page: Page): Locator {
  return page.locator('tbody tr[data-key]');
}

export function drawerOf(page: Page): Locator {
  return page.locator('aside[data-drawer]');
}

/** Waits until a record's drawer shows its content. */
export async function waitForRecord(page: Page): Promise<void> {
  await drawerOf(page).getByText('ENRICHMENT', { exact: true }).waitFor();
}

/** Tabs until the focus is on what the selector names; fails when a round of the page has no such stop. */
export async function tabTo(page: Page, selector: string): Promise<void> {
  for (let stops = 0; stops < 80; stops += 1) {
    const isThere = (await page.locator(`${selector}:focus`).count()) > 0;
    if (isThere) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`80 tab stops, and none is ${selector}`);
}

/** The state of the view, as the address has it. */
export const hashOf = (page: Page) => decodeURIComponent(new URL(page.url()).hash);

/** Waits until the address has this in its hash. */
export const expectHash = (page: Page, part: string) =>
  expect.poll(() => hashOf(page), patient).toContain(part);
