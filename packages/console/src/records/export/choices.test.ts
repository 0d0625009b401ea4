import { expect, test } from 'vitest';
import type { DatasetVersion } from '../../api/types.ts';
import { bodyOf, choiceOf, exportLine, firstChoices } from './choice.ts';

const slice = { tenant: 'TX', store: 'DFW' };
const none = { slice, kind: undefined, versions: [] };
const version = { id: 'dsv_1', name: 'q1', shares: { train: 80, validation: 10, test: 10 } };
const versions = [
  version as DatasetVersion,
  { ...version, id: 'dsv_2', shares: null } as DatasetVersion,
];

test('asks for no columns as long as they are those by default', () => {
  const { choice, fault } = choiceOf({ ...none, choices: firstChoices });
  expect(choice).toMatchObject({ slice, format: 'csv', compression: 'none' });
  expect([choice.columns, fault]).toEqual([undefined, null]);
});

test('puts columns into the order of the file, and field paths behind them', () => {
  const choices = { ...firstChoices, columns: ['bytes', 'tenant'], pathText: 'origin.iata' };
  expect(choiceOf({ ...none, choices }).choice.columns).toEqual([
    'tenant',
    'bytes',
    'enrichment.origin.iata',
  ]);
});

test('adds a field path to the columns that the format has by default', () => {
  const choices = { ...firstChoices, format: 'ndjson', pathText: 'score' } as const;
  const { choice, byDefault } = choiceOf({ ...none, choices });
  expect(choice.columns).toEqual([...byDefault, 'enrichment.score']);
  expect(byDefault).not.toContain('recorded_at');
});

test('has the split by default of a version with shares only', () => {
  const splitOf = (versionId: string | undefined) =>
    choiceOf({ ...none, versions, choices: { ...firstChoices, versionId } }).byDefault.includes(
      'split',
    );
  expect([splitOf(undefined), splitOf('dsv_1'), splitOf('dsv_2')]).toEqual([false, true, false]);
});

test('exports the slice when its version is gone', () => {
  const choices = { ...firstChoices, versionId: 'dsv_9' };
  expect(choiceOf({ ...none, versions, choices }).choice.version).toBeUndefined();
});

test('takes what a where says of the slice, and nothing of a version', () => {
  const where = 'n = 1';
  const { choice } = choiceOf({ ...none, where, choices: firstChoices });
  expect(bodyOf(choice)).toMatchObject({ ...slice, where });
  expect(exportLine(choice, ['2001-03-01', '2001-03-05'], 'job')).toContain("--where 'n = 1'");
  const choices = { ...firstChoices, versionId: 'dsv_1' };
  expect(bodyOf(choiceOf({ ...none, where, versions, choices }).choice)).not.toHaveProperty(
    'where',
  );
});

test('tells what is no path', () => {
  const choices = { ...firstChoices, pathText: 'a..b' };
  expect(choiceOf({ ...none, choices }).fault).toContain('a..b');
});
