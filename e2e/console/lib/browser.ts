import { fileURLToPath } from 'node:url';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { expect } from 'vitest';
import type { Service } from '../../lib/installation.ts';
import { launchChromium } from './chromium.mjs';

/** A page of the browser, and a check of what it must not have done. */
export type ConsolePage = {
  readonly page: Page;
  /**
   * Fails if a request went to another host, something broke the content security policy, or the browser's console
   * holds errors other than those that the test caused itself.
   */
  expectQuiet: (expected?: readonly RegExp[]) => void;
  close: () => Promise<void>;
};

export type PageOptions = BrowserContextOptions & { initScripts?: readonly string[] };

/** A generous time-out for what the browser does at once: only a fault ever waits until its end. */
export const patient = { timeout: 120_000 };

let launched: Promise<Browser> | undefined;

/** The browser of all tests of this process, which ends with it. */
export function launchBrowser(): Promise<Browser> {
  launched ??= launchChromium();
  return launched;
}

/** A fresh profile with one empty page. */
export async function openPage(
  browser: Browser,
  service: Service,
  options: PageOptions = {},
): Promise<ConsolePage> {
  const { initScripts = [], ...contextOptions } = options;
  const context = await browser.newContext({
    baseURL: service.url,
    viewport: { width: 1440, height: 900 },
    reducedMotion: 'reduce',
    locale: 'en-US',
    timezoneId: 'UTC',
    ...contextOptions,
  });
  context.setDefaultTimeout(patient.timeout);
  for (const content of initScripts) await context.addInitScript({ content });
  const page = await context.newPage();
  const foreign: string[] = [];
  const errors: string[] = [];
  const own = new URL(service.url).host;
  page.on('request', (request) => {
    const url = new URL(request.url());
    const isInside = url.protocol === 'data:' || url.protocol === 'blob:';
    if (!isInside && url.host !== own) foreign.push(request.url());
  });
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(`${message.text()} ${message.location().url}`);
  });
  page.on('pageerror', (error) => errors.push(`uncaught: ${error.message}`));
  return {
    page,
    expectQuiet: (expected = []) => {
      // The console asks once who is signed in, and that request fails while nobody is.
      const known = [/401 \(Unauthorized\).*\/api\/v1\/me$/, ...expected];
      expect(foreign, 'requests to another host').toEqual([]);
      expect(errors.filter((error) => !known.some((pattern) => pattern.test(error)))).toEqual([]);
    },
    close: () => context.close(),
  };
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

/** Opens a place of the console, signs in by token, and waits until the console has come back to that place. */
export async function openSignedIn(page: Page, service: Service, place: string): Promise<void> {
  await page.goto(`/#${place}`);
  await signIn(page, service.token);
  await page.getByRole('tree').waitFor();
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

/** The picture of a view, kept as an artefact of CI. */
export async function keepScreen(page: Page, name: string): Promise<void> {
  const path = fileURLToPath(new URL(`../../screens/${name}.png`, import.meta.url));
  await page.screenshot({ path });
}
