import { expect, test } from 'vitest';
import { ApiError } from '../../api/client.ts';
import { faultAt, previewText } from './lines-choice.tsx';

const record = { store: 'DFW', occurred_at: '2001-03-01T00:00:00.000000Z', event_id: 'fl-1' };
const seen = { line: '{}', record, looked: 20, skipped: { rows: 0, fields: {} } };

test('an example says of which record it is, and which values others lack', () => {
  expect(previewText(seen)).toBe(
    'The line of fl-1 of DFW. Of 20 records from both ends all have a value.',
  );
  const skipped = { rows: 3, fields: { prompt: 2, label: 1 } };
  expect(previewText({ ...seen, skipped })).toContain(
    '3 have no value: {{prompt}} in 2, {{label}} in 1',
  );
  expect(previewText({ ...seen, line: null, record: null, looked: 1, skipped })).toMatch(
    /^Of 1 record from both ends 3 have no value/,
  );
  expect(previewText({ ...seen, line: null, record: null, looked: 0 })).toContain('no example');
});

test('what the service refuses is told at its field alone', () => {
  const errors = [{ path: '/template', code: 'value_invalid', message: 'a {{ has no end: }}' }];
  const error = new ApiError({ status: 400, code: 'request_invalid', detail: '', errors });
  expect(faultAt(error, '/template')).toBe('a {{ has no end: }}');
  expect(faultAt(error, '/columns')).toBeNull();
  expect(faultAt(new Error('x'), '/template')).toBeNull();
});
