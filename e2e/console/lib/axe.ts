import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type axe from 'axe-core';
import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';

/** The script that a page needs before it can be searched. */
const script = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** The themes differ in nothing but their colours, so one of them is searched by all rules, which takes twice as long. */
const themes = {
  light: {
    rules: { 'label-content-name-mismatch': { enabled: true }, 'target-size': { enabled: true } },
  },
  dark: { runOnly: ['color-contrast', 'link-in-text-block'] },
};

/** The rows of a list are drawn by the same code, and all but the first take most of the time. */
const searched = { exclude: ['tbody tr:nth-child(n + 9)'] };

/** What stands beside or above a list that was searched already, which takes longer than all of the rest. */
export const [drawerPart, dialogPart] = ['aside[data-drawer]', '[role="dialog"]'] as const;

type Options = { only?: keyof typeof themes; part?: string | undefined };

/**
 * What axe finds wrong with the page as it is now, and texts that are too small to read: one line for each element.
 * Both themes are searched unless `only` names one: the width of the page changes no colours, so that of several widths
 * one has to be searched in both. Of the page only `part` is searched, if it is given.
 */
export async function listFindings(page: Page, { only, part }: Options = {}): Promise<string[]> {
  if (!(await page.evaluate<boolean>(`'axe' in window`)))
    await page.evaluate(await readFile(script, 'utf8'));
  const found = await page.evaluate<string[]>(smallTexts);
  for (const theme of only === undefined ? (['dark', 'light'] as const) : [only]) {
    await page.emulateMedia({ colorScheme: theme });
    await page.locator(`html[data-mantine-color-scheme="${theme}"]`).waitFor();
    await page.evaluate(transitionsEnd);
    const options = { ...themes[theme], resultTypes: ['violations'] };
    const context = part === undefined ? searched : { ...searched, include: part };
    // It fails where the part is not there.
    const { violations } = await page.evaluate<axe.AxeResults>(
      `axe.run(${JSON.stringify(context)}, ${JSON.stringify(options)})`,
    );
    for (const { id, nodes } of violations) {
      const where = nodes.map((node) => `${node.target.join(' ')}: ${node.failureSummary}`);
      found.push(...where.map((text) => `${theme} ${id} ${text}`));
    }
  }
  return found;
}

/**
 * Expects of each place, once what it is ready with is there, that axe finds nothing, and at no width that it is wider
 * than the page. Of the places after the first, which have a drawer beside the same list, the drawer is searched. At
 * 1024 px no part stands that does not at the others, and only the width is looked at.
 */
export async function expectAccessible(
  page: Page,
  places: readonly (readonly [place: string, ready: Locator])[],
  widths: readonly number[] = [1440, 1024, 320],
): Promise<void> {
  for (const width of widths) {
    await page.setViewportSize({ width, height: 844 });
    for (const [place, ready] of places) {
      await page.goto(`/#${place}`);
      await ready.first().waitFor({ state: 'attached' });
      const options: Options = {
        ...(width !== widths[0] && { only: 'light' }),
        ...(place !== places[0]?.[0] && { part: drawerPart }),
      };
      if (width !== 1024)
        expect(await listFindings(page, options), `${width} ${place}`).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth'), place).toBe(width);
    }
  }
}

/** A colour that is on its way to another one is of neither theme. */
const transitionsEnd = `Promise.allSettled(
  document.getAnimations().filter((each) => each instanceof CSSTransition).map((each) => each.finished),
).then(() => undefined)`;

/** The texts of the page that are smaller than 11 px. One of 0 px is hidden on purpose. */
const smallTexts = `(() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const small = new Set();
  while (walker.nextNode()) {
    const { parentElement: parent, data } = walker.currentNode;
    if (data.trim() === '' || !parent.checkVisibility()) continue;
    const { fontSize } = getComputedStyle(parent);
    const pixels = Number.parseFloat(fontSize);
    if (pixels > 0 && pixels < 11) small.add(fontSize + ': ' + data);
  }
  return [...small];
})()`;
