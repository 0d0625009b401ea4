import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type axe from 'axe-core';
import type { Page } from 'playwright-core';

/** The script that a page needs before it can be searched. */
export function readAxe(): Promise<string> {
  return readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
}

/** What axe finds wrong, one line for each element. */
export async function listFindings(page: Page): Promise<string[]> {
  const { violations } = await page.evaluate<axe.AxeResults>(
    `axe.run(document, { rules: { 'label-content-name-mismatch': { enabled: true } } })`,
  );
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id} ${target.join(' ')}: ${failureSummary}`),
  );
}
