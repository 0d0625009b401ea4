import { expect, test } from 'vitest';
import type { Column } from './column.ts';
import { csvOf, encodeCell } from './csv.ts';

type Row = { name: string; count: number | null };

const columns: readonly Column<Row>[] = [
  { id: 'count', name: 'COUNT', width: 80, cell: () => 'many', value: ({ count }) => count },
  { id: 'bar', name: 'BAR', width: 80, cell: () => 'a picture' },
  { id: 'name', name: 'NAME, WHOLE', width: 80, cell: () => 'cut', value: ({ name }) => name },
];

test('writes the values of the columns in their order below their names', () => {
  const rows = [
    { name: 'say "yes"', count: -5 },
    { name: '=1+1', count: null },
  ];
  expect(csvOf(columns, rows)).toBe('COUNT,"NAME, WHOLE"\r\n-5,"say ""yes"""\r\n,\'=1+1\r\n');
});

test.each([
  ['=HYPERLINK("x")', `"'=HYPERLINK(""x"")"`],
  ['@SUM(1)', "'@SUM(1)"],
  ['-2+3', "'-2+3"],
  ['+49 170', "'+49 170"],
  ['＝1', "'＝1"],
  ['\tcell', "'\tcell"],
  ['-5', '-5'],
  ['+1.5e3', '+1.5e3'],
  ['\u00a0=1', "'\u00a0=1"],
  ['\ufeff\u200b@x', "'\ufeff\u200b@x"],
  ['a;b', '"a;b"'],
  ['a=b', 'a=b'],
  ['two\nlines', '"two\nlines"'],
  [true, 'true'],
  [null, ''],
])('writes %j as the exports for spreadsheets do', (value, cell) => {
  expect(encodeCell(value)).toBe(cell);
});
