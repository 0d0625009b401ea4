import { expect, test } from 'vitest';
import type { ColumnType } from '../../platform/duckdb-types.ts';
import { isPlainType } from './typed-rows.ts';

const text: ColumnType = { kind: 'VARCHAR', isJson: false, names: [], parts: [], text: '' };
const struct = (...names: string[]): ColumnType => ({
  ...{ kind: 'STRUCT', isJson: false, names, text: '' },
  parts: names.map(() => text),
});

test('a STRUCT is plain unless names of its fields differ only in case', () => {
  expect(isPlainType(struct('id', 'label'))).toBe(true);
  expect(isPlainType(struct('id', 'ID'))).toBe(false);
  const outer: ColumnType = { ...struct('a'), parts: [struct('id', 'Id')] };
  expect(isPlainType(outer)).toBe(false);
  expect(isPlainType({ ...text, isJson: true })).toBe(false);
});
