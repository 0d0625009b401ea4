import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { drawerOf, expectHash, patient, recordRows, waitForRecord } from './browser.ts';
import { bigLeaf } from './filled-service.ts';

/** Presses the nth key that a line names, or all of them as one combination. */
export type Press = (index: number | 'together') => Promise<void>;
/** Where a line of the sheet holds, and how it is tried out there. */
export type Check = { from: string; run: (page: Page, press: Press) => Promise<void> };

const node = (page: Page, key: string) => page.locator(`[role="treeitem"][data-key="${key}"]`);
const search = (page: Page) => page.locator('[data-search]');
const bars = (page: Page) => page.getByRole('slider', { name: /^Records per day/ });
const expectFocus = async (page: Page, selector: string) =>
  page.locator(`${selector}:focus`).waitFor({ state: 'attached' });
const expectNode = (page: Page, key: string) =>
  expectFocus(page, `[role="treeitem"][data-key="${key}"]`);
const expectBar = (page: Page, day: string) =>
  expect.poll(() => bars(page).getAttribute('aria-valuetext'), patient).toMatch(`${day}: `);
/** In the tree, from its first node, with TX open. */
const inTree = (run: Check['run']): Check => ({
  from: '/records?open=TX',
  run: async (page, press) => {
    await node(page, 'TX/IAH').waitFor();
    await node(page, 'CA').focus();
    await run(page, press);
  },
});
const onBars = (run: Check['run']): Check => ({
  from: bigLeaf,
  run: async (page, press) => {
    await bars(page).focus();
    await page.keyboard.press('Home');
    await run(page, press);
  },
});
const expectDay = (page: Page, day: string) => expectFocus(page, `[data-day="${day}"]`);
/** In the calendar of a store, on the first day of its last month. */
const inCalendar = (run: Check['run']): Check => ({
  from: '/records?tenant=TX&store=DFW&view=days',
  run: async (page, press) => {
    await page.locator('[data-day="2001-03-01"]').focus();
    await run(page, press);
  },
});
/** In the head of the table of records, on the first column. */
const inHead = (run: Check['run']): Check => ({
  from: bigLeaf,
  run: async (page, press) => {
    await page.locator('th[data-column="occurred_at"]').focus();
    await run(page, press);
  },
});
const widthOfColumn = (page: Page) =>
  page.locator('th[data-column="occurred_at"]').evaluate((head) => head.clientWidth);
const expectRow = async (page: Page, index: number) => {
  const key = await recordRows(page).nth(index).getAttribute('data-key');
  await expectFocus(page, `tbody tr[data-key="${key}"]`);
};

/** In the dead-letter queue, from its second row. */
const inQueue = (run: Check['run']): Check => ({
  from: '/dlq',
  run: async (page, press) => {
    await recordRows(page).nth(1).focus();
    await run(page, press);
  },
});

/** Lists, and a heading of what a row opens. */
const lists = {
  [bigLeaf]: null,
  '/exports': 'REQUEST',
  '/retention': 'LAST MOVES',
  '/incidents': 'PAYLOAD',
  '/dlq': 'ATTEMPTS',
};
/** In each of the lists, from its second row. */
const inLists = (
  run: (page: Page, press: Press, heading: string | null) => Promise<void>,
): Check => ({
  from: '/no-such-page',
  run: async (page, press) => {
    for (const [place, heading] of Object.entries(lists)) {
      await page.goto('/#/nowhere');
      await page.getByText('There is no such page').waitFor();
      await page.goto(`/#${place}`);
      await recordRows(page).nth(1).focus();
      await run(page, press, heading);
    }
  },
});
const upAndDown = inLists(async (page, press) => {
  await press(0);
  await expectRow(page, 0);
  await press(1);
  await expectRow(page, 1);
});
const goTo = (path: string): Check => ({
  from: '/no-such-page',
  run: async (page, press) => {
    await press(0);
    await press(1);
    await expectHash(page, path);
  },
});
const checked = (page: Page) => page.locator('tbody input[type="checkbox"]:checked');

/** What is tried of each line of the sheet, by its text. */
export const checks: Readonly<Record<string, Check>> = {
  'Anywhere: Find anything: a tenant, an id, an action': {
    from: bigLeaf,
    run: async (page, press) => {
      await press('together');
      await page.getByRole('dialog', { name: 'Find anything' }).waitFor();
      await page.keyboard.press('Escape');
    },
  },
  'Anywhere: Search on this page': {
    from: bigLeaf,
    run: async (page, press) => {
      await press(0);
      await expectFocus(page, '[data-search]');
    },
  },
  'Anywhere: Go to OVERVIEW': {
    from: '/no-such-page',
    run: async (page, press) => {
      await press(0);
      await press(1);
      await page.getByRole('region', { name: 'Figures' }).waitFor();
    },
  },
  'Anywhere: Go to RECORDS': {
    from: '/no-such-page',
    run: async (page, press) => {
      await press(0);
      await press(1);
      await page.getByRole('tree').waitFor();
    },
  },
  'Anywhere: Go to JOBS': goTo('/jobs'),
  'Anywhere: Go to EXPORTS': goTo('/exports'),
  'Anywhere: Go to RETENTION': goTo('/retention'),
  'Anywhere: Go to WEBHOOK DLQ': goTo('/dlq'),
  'Anywhere: Go to INCIDENTS': goTo('/incidents'),
  'Anywhere: Go to DELIVERIES': goTo('/deliveries'),
  'Anywhere: Go to ENDPOINTS': goTo('/endpoints'),
  'Anywhere: Go to ACCESS': goTo('/access'),
  'Anywhere: These keys': {
    from: bigLeaf,
    run: async (page, press) => {
      await press(0);
      await page.getByRole('dialog', { name: 'Keys' }).waitFor();
      await page.keyboard.press('Escape');
    },
  },
  'Anywhere: Close what is on top': {
    from: bigLeaf,
    run: async (page, press) => {
      await recordRows(page).first().click();
      await waitForRecord(page);
      await press(0);
      await drawerOf(page).waitFor({ state: 'detached' });
    },
  },
  'In the search of RECORDS: To the tree': {
    from: '/records',
    run: async (page, press) => {
      await node(page, 'CA').waitFor();
      await search(page).focus();
      await press(0);
      await expectFocus(page, '[role="treeitem"]');
    },
  },
  'In the search of RECORDS: Empty the search': {
    from: '/records',
    run: async (page, press) => {
      await search(page).fill('T');
      await press(0);
      expect(await search(page).inputValue()).toBe('');
    },
  },
  'On the bars of days or months: Previous, next day or month': onBars(async (page, press) => {
    await press(1);
    await expectBar(page, '2001-03-02');
    await press(0);
    await expectBar(page, '2001-03-01');
  }),
  'On the bars of days or months: First, last day or month': onBars(async (page, press) => {
    await press(1);
    await expectBar(page, '2001-03-31');
    await press(0);
    await expectBar(page, '2001-03-01');
  }),
  'On the bars of days or months: That day only; open that month': onBars(async (page, press) => {
    await press(0);
    await expectHash(page, 'from=2001-03-01&to=2001-03-01');
  }),
  'On the bars of days or months: One day more': onBars(async (page, press) => {
    await press('together');
    await expectHash(page, 'from=2001-03-01&to=2001-03-02');
  }),
  'On the bars of days or months: One day less': onBars(async (page, press) => {
    await page.keyboard.press('Shift+ArrowRight');
    await page.keyboard.press('Shift+ArrowRight');
    await expectHash(page, 'from=2001-03-01&to=2001-03-03');
    await press('together');
    await expectHash(page, 'from=2001-03-01&to=2001-03-02');
  }),
  'On the bars of days or months: All days up to that day': onBars(async (page, press) => {
    await page.keyboard.press('Enter');
    await expectHash(page, 'from=2001-03-01&to=2001-03-01');
    for (const _ of [2, 3, 4]) await page.keyboard.press('ArrowRight');
    await press('together');
    await expectHash(page, 'from=2001-03-01&to=2001-03-04');
  }),
  'In the tree of RECORDS: Previous, next line': inTree(async (page, press) => {
    await press(1);
    await expectNode(page, 'TX');
    await press(0);
    await expectNode(page, 'CA');
  }),
  'In the tree of RECORDS: A screen up, down': inTree(async (page, press) => {
    await press(1);
    await expectNode(page, 'TX/IAH');
    await press(0);
    await expectNode(page, 'CA');
  }),
  'In the tree of RECORDS: First, last line': inTree(async (page, press) => {
    await press(1);
    await expectNode(page, 'TX/IAH');
    await press(0);
    await expectNode(page, 'CA');
  }),
  'In the tree of RECORDS: Open a node, then go inside': inTree(async (page, press) => {
    await press(0);
    await node(page, 'CA/AUS').waitFor();
    await press(0);
    await expectNode(page, 'CA/AUS');
  }),
  'In the tree of RECORDS: Close a node, then go out of it': inTree(async (page, press) => {
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await expectNode(page, 'TX/AUS');
    await press(0);
    await expectNode(page, 'TX');
    await press(0);
    await node(page, 'TX/AUS').waitFor({ state: 'detached' });
  }),
  'In the tree of RECORDS: Open this node and those after it': {
    from: '/records',
    run: async (page, press) => {
      await node(page, 'CA').focus();
      await press(0);
      await node(page, 'CA/AUS').waitFor();
      await node(page, 'TX/AUS').waitFor();
    },
  },
  'In the tree of RECORDS: Show its records': inTree(async (page, press) => {
    await press(0);
    await expectHash(page, 'tenant=CA');
  }),
  'In the tree of RECORDS: Jump to a name': inTree(async (page, press) => {
    await press(0);
    await expectNode(page, 'TX');
  }),
  'On the chosen node of RECORDS: Tag its days': {
    from: bigLeaf,
    run: async (page, press) => {
      await recordRows(page).first().waitFor();
      await press(0);
      await page.getByRole('complementary', { name: 'TAG DAYS OF TX › DFW' }).waitFor();
      await page.keyboard.press('Escape');
    },
  },
  'In the calendar of days: Previous, next day': inCalendar(async (page, press) => {
    await press(1);
    await expectDay(page, '2001-03-02');
    await press(0);
    await expectDay(page, '2001-03-01');
  }),
  'In the calendar of days: The same weekday a week before, after': inCalendar(
    async (page, press) => {
      await press(0);
      await expectDay(page, '2001-02-22');
      await press(1);
      await expectDay(page, '2001-03-01');
    },
  ),
  'In the calendar of days: The same day a month before, after': inCalendar(async (page, press) => {
    await press(0);
    await expectDay(page, '2001-02-01');
    await press(1);
    await expectDay(page, '2001-03-01');
  }),
  'In the calendar of days: First, last day of the month': inCalendar(async (page, press) => {
    await press(1);
    await expectDay(page, '2001-03-31');
    await press(0);
    await expectDay(page, '2001-03-01');
  }),
  'In the calendar of days: That day only': inCalendar(async (page, press) => {
    await press(0);
    await expectHash(page, 'from=2001-03-01&to=2001-03-01');
  }),
  'In the calendar of days: All days up to it': inCalendar(async (page, press) => {
    await page.keyboard.press('Enter');
    await page.keyboard.press('ArrowRight');
    await press('together');
    await expectHash(page, 'from=2001-03-01&to=2001-03-02');
  }),
  'On the edge of the tree: Narrower, wider tree': {
    from: '/records',
    run: async (page, press) => {
      const edge = page.getByRole('separator', { name: 'Width of the tree' });
      const width = async () => Number(await edge.getAttribute('aria-valuenow'));
      await edge.focus();
      const before = await width();
      await press(1);
      await expect.poll(width, patient).toBeGreaterThan(before);
      await press(0);
      await expect.poll(width, patient).toBe(before);
    },
  },
  'On the edge of a panel: Wider, narrower panel': {
    from: `${bigLeaf}&panel=tag`,
    run: async (page, press) => {
      const edge = page.getByRole('separator', { name: 'Width of the panel' });
      const width = async () => Number(await edge.getAttribute('aria-valuenow'));
      await edge.focus();
      const before = await width();
      await press(0);
      await expect.poll(width, patient).toBeGreaterThan(before);
      await press(1);
      await expect.poll(width, patient).toBe(before);
    },
  },
  'In a list: Previous, next row': upAndDown,
  'In a list: The same, from a row': upAndDown,
  'In a list: Open the row': inLists(async (page, press, heading) => {
    await press(0);
    if (heading === null) await waitForRecord(page);
    else await page.getByRole('heading', { name: heading }).waitFor();
  }),
  'In the lists of webhooks: Retry the row': inQueue(async (page, press) => {
    await press(0);
    await page.getByText(/^Retry queued for/).waitFor();
  }),
  'In the lists of webhooks: Select the row': inQueue(async (page, press) => {
    await press(0);
    await expect.poll(() => checked(page).count(), patient).toBe(1);
    await press(1);
    await expect.poll(() => checked(page).count(), patient).toBe(0);
  }),
  'In the lists of webhooks: All rows up to it': inQueue(async (page, press) => {
    await page.keyboard.press('x');
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await press('together');
    await expect.poll(() => checked(page).count(), patient).toBe(3);
  }),
  'In the head of a list: Previous, next column': inHead(async (page, press) => {
    await press(1);
    await expectFocus(page, 'th[data-column="event_id"]');
    await press(0);
    await expectFocus(page, 'th[data-column="occurred_at"]');
  }),
  'In the head of a list: Wider; with the other arrow narrower': inHead(async (page, press) => {
    const before = await widthOfColumn(page);
    await press('together');
    expect(await widthOfColumn(page)).toBe(before + 16);
    await page.keyboard.press('Shift+ArrowLeft');
    expect(await widthOfColumn(page)).toBe(before);
  }),
  'In the head of a list: One place on; with the other arrow back': inHead(async (page, press) => {
    await press('together');
    await page.locator('th[data-column]:nth-child(2):focus').waitFor();
    await page.keyboard.press('Alt+ArrowLeft');
    await page.locator('th[data-column]:nth-child(1):focus').waitFor();
  }),
};
