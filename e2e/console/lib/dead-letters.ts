import type { Page } from 'playwright-core';
import { drawerOf, recordRows } from './browser.ts';

/** The number beside ABANDONED or PENDING. */
export const countOf = (page: Page, status: 'abandoned' | 'pending') =>
  page.locator('button[aria-pressed] strong').nth(status === 'abandoned' ? 0 : 1);

export const messages = (page: Page) => page.getByRole('status', { name: 'Messages' });

export const retryOf = (page: Page) => drawerOf(page).getByRole('button', { name: 'RETRY' });

export const attempts = (page: Page) => page.getByRole('heading', { name: 'ATTEMPTS' });

export async function keyOf(page: Page, row: number): Promise<string> {
  return (await recordRows(page).nth(row).getAttribute('data-key')) ?? '';
}
