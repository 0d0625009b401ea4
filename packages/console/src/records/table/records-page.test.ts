import { describe, expect, it } from 'vitest';
import { rangeText, readRecordsPage, searchedText } from './records-page.ts';

describe('readRecordsPage', () => {
  it('reads lines, keeps the spelling of confidence and of enrichments', () => {
    const record =
      '{"tenant":"TX","store":"DFW","event_id":"a/1","occurred_at":"2001-03-01T00:05:00.000000Z","kind":"departure","source":null,"model":null,"confidence":0.10,"bytes":481,"enrichment":{"confidence":9,"x":"]}"}}';
    expect(readRecordsPage(`{"data":[${record}],"next_cursor":"n","prev_cursor":null}`)).toEqual({
      lines: [
        {
          key: 'TX/DFW/2001-03-01T00:05:00.000000Z/a/1',
          tenant: 'TX',
          store: 'DFW',
          event_id: 'a/1',
          occurred_at: '2001-03-01T00:05:00.000000Z',
          kind: 'departure',
          source: null,
          model: null,
          confidence: '0.10',
          bytes: 481,
          enrichment: '{"confidence":9,"x":"]}"}',
        },
      ],
      next_cursor: 'n',
      prev_cursor: null,
      searched_to: null,
    });
  });

  it('reads an empty page', () => {
    expect(readRecordsPage('{"data":[],"next_cursor":null,"prev_cursor":null}').lines).toEqual([]);
  });
});

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
