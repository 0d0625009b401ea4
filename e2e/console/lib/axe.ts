import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type axe from 'axe-core';
import type { Page } from 'playwright-core';

/** The script that a page needs before it can be searched. */
export function readAxe(): Promise<string> {
  return readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
}

const rules = {
  'label-content-name-mismatch': { enabled: true },
  'target-size': { enabled: true },
};

/** What axe finds wrong, and texts that are too small to read: one line for each element. */
export async function listFindings(page: Page): Promise<string[]> {
  const { violations } = await page.evaluate<axe.AxeResults>(
    `axe.run(document, { rules: ${JSON.stringify(rules)} })`,
  );
  const found = violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id} ${target.join(' ')}: ${failureSummary}`),
  );
  return [...found, ...(await page.evaluate<string[]>(smallTexts))];
}

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
