import { expect } from 'vitest';
import type { Service } from './installation.ts';

export type Page = { ids: string[]; next: string | null; prev: string | null };
export type Filters = Readonly<Record<string, string>>;

/** One page of records; of each only what identifies it. */
export async function getPage(
  service: Service,
  filters: Filters,
  cursor: string | null = null,
): Promise<Page> {
  const query = new URLSearchParams({ ...filters, ...(cursor === null ? {} : { cursor }) });
  const answer = await service.call('GET', `/enrichment/records?${query.toString()}`);
  expect(answer.status, answer.text).toBe(200);
  const rows = answer.json.data as Record<string, string>[];
  return {
    ids: rows.map((row) => row.event_id ?? ''),
    next: answer.json.next_cursor,
    prev: answer.json.prev_cursor,
  };
}

/**
 * Reads all pages from `first` on in one direction, and answers them, `first` included. `onPage` runs between two
 * pages.
 */
export async function walkPages(
  service: Service,
  filters: Filters,
  first: Page,
  options: { direction?: 'next' | 'prev'; onPage?: () => Promise<void> } = {},
): Promise<Page[]> {
  const { direction = 'next', onPage } = options;
  const pages = [first];
  for (let cursor = first[direction]; cursor !== null; ) {
    await onPage?.();
    const page = await getPage(service, filters, cursor);
    pages.push(page);
    cursor = page[direction];
  }
  return pages;
}

/** The ids of pages that were walked through, in key order or its reverse. */
export function idsOf(pages: readonly Page[], direction: 'next' | 'prev' = 'next'): string[] {
  const inOrder = direction === 'next' ? pages : [...pages].reverse();
  return inOrder.flatMap((page) => page.ids);
}
