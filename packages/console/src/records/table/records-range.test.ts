import { describe, expect, it, test } from 'vitest';
import type { RecordLine, RecordsPage } from './records-page.ts';
import { rangeText, readSoFar, searchedText } from './records-range.ts';

describe('rangeText', () => {
  const page = { rows: 100, hasNext: true, at: 0, isAtKnown: true, total: 27_162 };

  it('tells where in the whole a page is, when it is known', () => {
    expect(rangeText(page)).toBe('1–100 of 27,162');
    expect(rangeText({ ...page, at: 27_100, rows: 62, hasNext: false })).toBe(
      '27,101–27,162 of 27,162',
    );
  });

  it('tells only the number of rows when it is not', () => {
    expect(rangeText({ ...page, isAtKnown: false })).toBe('100 rows');
    expect(rangeText({ ...page, total: null })).toBe('1–100');
    expect(rangeText({ ...page, total: null, isAtKnown: false, rows: 1 })).toBe('1 row');
  });

  it('tells how far a page has looked that is not full', () => {
    const searched = 'DFW 2001-03-05 00:00';
    expect(rangeText({ ...page, rows: 3, total: null, searched })).toBe(`1–3 up to ${searched}`);
    expect(rangeText({ ...page, rows: 0, total: null, searched })).toBe(
      `no match up to ${searched}, NEXT reads on`,
    );
    expect(searchedText({ tenant: 'TX', store: null, occurred_at: null }, 'utc')).toBe(
      'the end of TX',
    );
    const occurred_at = '2001-03-05T14:07:00.000000Z';
    expect(searchedText({ tenant: 'TX', store: null, occurred_at }, 'utc')).toMatch(
      /^2001-03-05 14:07/,
    );
  });

  it('says that a page without a match may go on', () => {
    expect(rangeText({ ...page, rows: 0, total: null })).toBe(
      'no match in this stretch, NEXT reads on',
    );
    expect(rangeText({ ...page, rows: 0, total: null, hasNext: false })).toBe('0 rows');
  });
});

const pageOf = (rows: number, next_cursor: string | null, more: Partial<RecordsPage> = {}) => ({
  data: {
    lines: Array.from({ length: rows }, () => ({}) as RecordLine),
    next_cursor,
    prev_cursor: null,
    searched_to: null,
    ...more,
  },
  isPlaceholderData: false,
});

test('readSoFar says how many fit at least, and exactly only where the first page is all', () => {
  expect(readSoFar({}, pageOf(3, null))).toBe('3');
  expect(readSoFar({}, pageOf(100, 'next'))).toBe('≥ 100');
  expect(readSoFar({ cursor: 'c', at: 100 }, pageOf(3, null))).toBe('≥ 103');
  expect(
    readSoFar({ cursor: 'c', at: 100 }, { ...pageOf(100, 'c'), isPlaceholderData: true }),
  ).toBe('≥ 100');
  expect(readSoFar({}, { ...pageOf(3, null), isPlaceholderData: true })).toBe('≥ 0');
  expect(readSoFar({ start: 'last' }, pageOf(3, null))).toBe('≥ 3');
});

test('readSoFar says nothing before anything was read, or where the filter cannot be', () => {
  expect(readSoFar({}, { data: undefined, isPlaceholderData: false })).toBe('…');
  const fault = { code: 'where_invalid', message: '', path: '/where' };
  expect(readSoFar({}, pageOf(0, null, { fault }))).toBe('…');
});
