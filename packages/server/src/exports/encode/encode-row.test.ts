import { expect, test } from 'vitest';
import { dialects } from './csv-cells.ts';

const sheet = (text: string) => dialects.spreadsheet.encode({ text, isText: true });

test.each([
  '=1+1',
  '+cmd',
  '-x',
  '@SUM(A1)',
  '\tx',
  '＝1',
  '＋1',
  '－1',
  '＠x',
  '-',
  '+-1',
  '-1-1',
  '=',
  '--5',
  '\ufeff=1',
  '\u200b=1',
  '\u00a0=1',
  '\u00a0\u200b\u202e@x',
  '\u3000＝1',
  '\u00a0-5',
])('the spreadsheet profile guards %j', (text) => {
  expect(sheet(text).replace(/^"/, '')).toMatch(/^'/);
});

test.each(['a;b', ';', '=1;2'])('the spreadsheet profile quotes %j', (text) => {
  expect(sheet(text)).toMatch(/^"'?[^']*;.*"$/s);
});

test.each(['\rx', '\nx', '\r\n=1'])('the spreadsheet profile guards and quotes %j', (text) => {
  expect(sheet(text)).toBe(`"'${text}"`);
});

test.each(['-5', '+5', '-0.5', '+1e9', '-1E-9', '-.5', '5', 'a=1', "'x", ' =1', ''])(
  'the spreadsheet profile leaves %j as it is',
  (text) => {
    expect(sheet(text)).toBe(text);
  },
);

test('NULL is nothing in both profiles, and "" differs in the machine profile only', () => {
  expect(dialects.machine.encode(null)).toBe('');
  expect(dialects.machine.encode({ text: '', isText: true })).toBe('""');
  expect(dialects.spreadsheet.encode(null)).toBe('');
});
