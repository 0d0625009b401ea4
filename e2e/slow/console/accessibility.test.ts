import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { madeFolder } from '../../../packages/server/test/folder.ts';
import { listFindings } from '../../console/lib/axe.ts';
import {
  drawerOf,
  patient,
  recordRows,
  useConsole,
  waitForRecord,
} from '../../console/lib/browser.ts';
import { bigLeaf, startFilled } from '../../console/lib/filled-service.ts';
import { quietRetention } from '../../console/lib/retention.ts';
import { runRetention } from '../../lib/retention.ts';

const root = madeFolder();
const filled = useConsole(() =>
  startFilled({ ...quietRetention, SVC_EXPORT_ROOTS: root }, 'cluster'),
);
beforeAll(() => runRetention(filled.service, { tenant: 'CA' }));

type Visit = (view: string, page: Page) => Promise<void>;

/** Each view that no other file searches, one after the other. */
async function visitViews(page: Page, visit: Visit): Promise<void> {
  await page.goto('/#/sign-in');
  await page.getByLabel('Access token').waitFor();
  await visit('sign-in', page);
  await filled.openIn(page, '/records');
  await page.getByRole('treeitem').first().waitFor();
  await visit('records-start', page);
  await page.goto('/#/');
  await page.getByRole('definition').filter({ hasText: 'TX' }).first().waitFor();
  await visit('overview', page);
  await page.goto(`/#${bigLeaf}`);
  await recordRows(page).first().waitFor();
  // On a narrow screen the tree is there, but not shown.
  await page.locator('[role="treeitem"][aria-selected="true"]').waitFor({ state: 'attached' });
  await visit('records-leaf', page);
  await recordRows(page).nth(3).click();
  await waitForRecord(page);
  await visit('records-drawer', page);
  await page.keyboard.press('Escape');
  await drawerOf(page).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'EXPORT…' }).click();
  await drawerOf(page).getByText('1,200', { exact: true }).waitFor();
  await visit('records-export', page);
  await page.keyboard.press('Escape');
  await drawerOf(page).waitFor({ state: 'detached' });
  await visitRetention(page, visit);
  await page.keyboard.press('?');
  await page.getByRole('dialog').waitFor();
  await visit('keys', page);
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.keyboard.press('Control+k');
  await page.keyboard.type('TX/D');
  await page.getByRole('option', { name: 'TX › DFW' }).waitFor();
  await visit('palette', page);
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.goto('/#/no-such-page');
  await page.getByRole('tree').waitFor({ state: 'detached' });
  await visit('not-found', page);
}

async function visitRetention(page: Page, visit: Visit): Promise<void> {
  await page.goto('/#/retention');
  await recordRows(page).nth(1).waitFor();
  await visit('retention', page);
  await page.getByRole('button', { name: 'RUN NOW' }).click();
  await page.getByRole('dialog').getByRole('cell', { name: 'TX' }).first().waitFor();
  await visit('retention-run', page);
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.locator('tr[data-key="CA"]').click();
  await drawerOf(page).getByRole('link', { name: 'all of them in the journal' }).waitFor();
  await visit('retention-tenant', page);
  await page.goto('/#/retention?view=journal');
  await page.getByRole('region', { name: 'Journal of moves' }).waitFor();
  await recordRows(page).first().click();
  await drawerOf(page).getByRole('heading', { name: 'PROOF' }).waitFor();
  await visit('retention-move', page);
  await page.keyboard.press('Escape');
  await drawerOf(page).waitFor({ state: 'detached' });
  await visit('retention-journal', page);
}

/** After a change of its width the page is drawn anew, before the second frame. */
const secondFrame = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))`;

test('gives axe nothing to find on any view, and needs no scrolling sideways at 400 % zoom', async () => {
  const page = await filled.openBlank();
  await visitViews(page, async (view) => {
    expect(await listFindings(page), view).toEqual([]);
    const wide = page.viewportSize();
    await page.setViewportSize({ width: 320, height: 640 });
    await page.evaluate(secondFrame);
    expect(await page.evaluate('document.documentElement.scrollWidth'), view).toBe(320);
    if (wide !== null) await page.setViewportSize(wide);
  });
}, 180_000);

test('gives axe nothing to find on a schedule, wide and narrow', async () => {
  const { service } = filled;
  const body = {
    tenant: 'TX',
    name: 'by-night',
    cron: '0 2 * * *',
    format: 'csv',
    to: `${root}/axe/{date}`,
  };
  const { id } = (await service.call('POST', '/exports/schedules', { body })).json;
  for (const width of [1440, 390]) {
    const options = width === 1440 ? {} : ({ only: 'light' } as const);
    const page = await filled.open('/exports?view=schedules', { viewport: { width, height: 900 } });
    await page.getByText('by-night').first().waitFor();
    expect(await listFindings(page, options)).toEqual([]);
    for (const panel of [`schedule/${id}`, 'new-schedule']) {
      await page.goto(`/#/exports?view=schedules&panel=${panel}`);
      await drawerOf(page).waitFor();
      await page.waitForLoadState('networkidle');
      expect(await listFindings(page, options)).toEqual([]);
    }
  }
  await service.call('DELETE', `/exports/schedules/${id}`);
});

test('brings its own fonts, and loads the one of the text at once', async () => {
  const page = await filled.open(bigLeaf);
  await recordRows(page).first().waitFor();
  const loaded = `[...document.fonts]
    .filter((font) => font.status === 'loaded')
    .map((font) => font.family.replaceAll('"', ''))
    .sort()`;
  await expect
    .poll(() => page.evaluate(loaded), patient)
    .toEqual(['Inter Variable', 'JetBrains Mono Variable']);
  const preloaded = page.locator('link[rel="preload"][as="font"]');
  expect(await preloaded.getAttribute('href')).toMatch(/^\/assets\/inter-[\w-]+\.woff2$/);
});

/** Every leaf with half of it covered: the demo of a tag, put into the answers on their way. */
async function coverHalf(page: Page): Promise<void> {
  await page.route('**/api/v1/enrichment/datasets**', async (route) => {
    const response = await route.fetch();
    const answer = (await response.json()) as { data: { coverage: number }[] };
    for (const row of answer.data) row.coverage = 0.5;
    await route.fulfill({ response, json: answer });
  });
}

test('shows what is chosen, open, focused and covered in forced colours', async () => {
  const page = await filled.openBlank({ forcedColors: 'active' as const });
  await coverHalf(page);
  await filled.openIn(page, bigLeaf);
  await recordRows(page).first().waitFor();
  await page.getByRole('treeitem', { selected: true }).waitFor();
  const styleOf = (selector: string, property: string) =>
    page.evaluate<string>(
      `getComputedStyle(document.querySelector(${JSON.stringify(selector)})).${property}`,
    );
  const chosen = '[role="treeitem"][aria-selected="true"]';
  // Of what the page itself colours, forced colours would leave nothing to see.
  expect(await styleOf(chosen, 'forcedColorAdjust')).toBe('none');
  expect(await styleOf(chosen, 'backgroundColor')).not.toBe(
    await styleOf('[role="treeitem"][aria-selected="false"]', 'backgroundColor'),
  );
  await recordRows(page).first().focus();
  await page.keyboard.press('j');
  expect(await styleOf('tbody tr:focus', 'outlineStyle')).toBe('solid');

  await recordRows(page).nth(3).click();
  await waitForRecord(page);
  const open = 'tbody tr[aria-current="true"]';
  expect(await styleOf(open, 'forcedColorAdjust')).toBe('none');
  for (const property of ['backgroundColor', 'color']) {
    expect(await styleOf(`${open} td`, property)).not.toBe(await styleOf('thead th', property));
  }

  // Whichever row it stands in: what is covered, what is not, and the edge of both.
  for (const row of [chosen, '[role="treeitem"][aria-selected="false"]']) {
    const [track, covered] = [`${row} svg rect:first-child`, `${row} svg rect:last-child`];
    const fill = await styleOf(covered, 'fill');
    expect(fill).not.toBe(await styleOf(track, 'fill'));
    expect(await styleOf(track, 'stroke')).not.toBe(await styleOf(row, 'backgroundColor'));
  }
});
