import { describe, expect, it } from 'vitest';
import { readRecordsPage } from './records-page.ts';

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
