import { describe, expect, it, test } from 'vitest';
import type { DatasetVersion } from '../../api/types.ts';
import { defaultColumns, exportColumns, recordColumns } from '../../api/values.ts';
import {
  betterWay,
  bodyOf,
  choiceOf,
  type ExportChoice,
  exportLine,
  firstChoices,
  isJobOnly,
  isOfGroups,
  isUncounted,
  parsePaths,
  selectionOf,
} from './choice.ts';

const slice = { tenant: 'TX', store: 'DFW', month: '2001-03' };
const plain: ExportChoice = {
  slice,
  format: 'csv',
  compression: 'none',
  profile: 'machine',
  header: true,
};
const version = { id: 'dsv_1', name: 'q1 2001' };
const shares = { train: 80, validation: 10, test: 10 };
const versions = [
  { ...version, shares } as DatasetVersion,
  { ...version, id: 'dsv_2', shares: null } as DatasetVersion,
];

/** What is chosen by a form where only this is not as at first. */
const of = (change: object, where?: string) =>
  choiceOf({ slice, kind: undefined, where, versions, choices: { ...firstChoices, ...change } });

test('a selection says slice, kind and dataset, and of a version nothing that the service excludes', () => {
  const chosen = { ...plain, kind: 'arrival', dataset: 'training' } as const;
  expect(selectionOf(chosen)).toEqual({ ...slice, kind: 'arrival', dataset: 'training' });
  expect(selectionOf({ ...chosen, version, split: 'test' })).toEqual({
    tenant: 'TX',
    version: 'dsv_1',
    split: 'test',
  });
});

test('a body says no more than its format knows', () => {
  const file = { compression: 'gzip', columns: ['event_id'], typed: true } as const;
  const bodyAs = (format: ExportChoice['format']) => bodyOf({ ...plain, ...file, format });
  const { columns } = file;
  expect(bodyAs('csv')).toEqual({
    ...slice,
    columns,
    compression: 'gzip',
    profile: 'machine',
    header: true,
  });
  expect(bodyAs('ndjson')).toEqual({ ...slice, columns, compression: 'gzip' });
  expect(bodyAs('parquet')).toEqual({ ...slice, columns, typed: true });
});

describe('columns', () => {
  it('are asked for only where they are not those by default', () => {
    const { choice, fault } = of({});
    expect(choice).toMatchObject({ slice, format: 'csv', compression: 'none' });
    expect([choice.columns, fault]).toEqual([undefined, null]);
  });

  it('have the order of the file, and field paths behind them, or behind those by default', () => {
    expect(of({ columns: ['bytes', 'tenant'], pathText: 'origin.iata' }).choice.columns).toEqual([
      ...['tenant', 'bytes', 'enrichment.origin.iata'],
    ]);
    const { choice, byDefault } = of({ format: 'ndjson', pathText: 'score' });
    expect(choice.columns).toEqual([...byDefault, 'enrichment.score']);
  });

  it('have the split by default of a version with shares only, and NDJSON the record as it was sent', () => {
    const splits = [undefined, 'dsv_1', 'dsv_2'].map((versionId) =>
      of({ versionId }).byDefault.includes('split'),
    );
    expect(splits).toEqual([false, true, false]);
    expect(defaultColumns('csv', true)).toEqual(exportColumns);
    expect(defaultColumns('ndjson', true)).toEqual(recordColumns);
  });

  it('take paths with and without their first name, once each, and tell what is no path', () => {
    expect(parsePaths('origin.iata, enrichment.score\nscore,,').paths).toEqual([
      ...['enrichment.origin.iata', 'enrichment.score'],
    ]);
    expect(parsePaths('')).toEqual({ paths: [], fault: null });
    expect(of({ pathText: 'a..b' }).fault).toContain('a..b');
  });
});

test('the slice is exported when its version is gone', () => {
  expect(of({ versionId: 'dsv_9' }).choice.version).toBeUndefined();
});

test('a where is of the slice, and not of a version', () => {
  const { choice } = of({}, 'n = 1');
  expect(bodyOf(choice)).toMatchObject({ ...slice, where: 'n = 1' });
  expect(exportLine(choice, null, 'job')).toContain("--where 'n = 1'");
  expect(bodyOf(of({ versionId: 'dsv_1' }, 'n = 1').choice)).not.toHaveProperty('where');
});

describe('lines by a template', () => {
  it('are asked for as NDJSON only, without columns, by a job', () => {
    const lines = { lines: 'openai-chat', missing: 'skip', columns: ['kind'], pathText: 'a' };
    const { choice } = of({ ...lines, format: 'ndjson' });
    expect(bodyOf(choice)).toEqual({ ...slice, template: 'openai-chat', missing: 'skip' });
    expect([isJobOnly(choice), isUncounted(choice)]).toEqual([true, false]);
    expect(exportLine(choice, null, 'job')).toContain(
      '--template openai-chat --missing skip --async',
    );
    const csv = of({ lines: 'openai-chat', format: 'csv' }).choice;
    expect(isJobOnly(csv)).toBe(false);
    expect(bodyOf(csv)).not.toHaveProperty('missing');
  });

  it('are those of a JSON object of one’s own, which the command line takes from a file', () => {
    const own = { lines: 'own', format: 'ndjson' };
    const { choice, templateFault } = of({ ...own, templateText: '{"a":"{{b}}"}' });
    expect([templateFault, choice.template]).toEqual([null, { a: '{{b}}' }]);
    expect(exportLine(choice, null, 'job')).toContain('--template @template.json --async');
    expect(of(own).templateFault).toContain('write a JSON object');
    expect(of({ ...own, templateText: '[1]' }).templateFault).toContain('no object');
    expect(of({ ...own, templateText: '{' }).templateFault).toContain('no JSON');
    expect(of({ ...own, templateText: '{', format: 'csv' }).templateFault).toBeNull();
  });
});

test('a split of a version with groups is uncounted, and made by a job', () => {
  const all = { ...plain, version: { ...version, group_by: 'plate' } };
  const split = { ...all, split: 'test' } as const;
  const groupless = { ...split, version: { ...version, group_by: null } };
  expect([isUncounted(split), isJobOnly(split), isOfGroups(split)]).toEqual([true, true, true]);
  expect([isUncounted(all), isJobOnly(all)]).toEqual([false, false]);
  expect(isJobOnly(groupless)).toBe(false);
  expect(isUncounted({ ...all, where: 'a = 1' })).toBe(true);
});

test('a typed file has the fields in the place of the enrichment, and no paths beside them', () => {
  const faultOf = (change: object) => of({ format: 'parquet', typed: true, ...change }).fault;
  expect(faultOf({})).toBeNull();
  expect(faultOf({ columns: ['event_id'] })).toContain('choose enrichment');
  expect(faultOf({ pathText: 'score' })).toContain('all fields');
  expect(faultOf({ format: 'csv', columns: ['event_id'], pathText: 'score' })).toBeNull();
});

test('a job is better above 500,000 rows', () => {
  expect([undefined, 500_000, 500_001].map(betterWay)).toEqual(['now', 'now', 'job']);
});

const days: [string, string] = ['2001-01-01', '2001-03-31'];
const leaf = '--tenant TX --store DFW --month 2001-03';
test.each<[string, Partial<ExportChoice>, 'job' | undefined, string]>([
  ['a leaf', {}, undefined, `${leaf} --format csv --out TX_DFW_2001-03.csv`],
  [
    'a whole tenant, whose days the command line wants',
    { slice: { tenant: 'TX' } },
    undefined,
    '--tenant TX --from 2001-01-01 --to 2001-03-31 --format csv --out TX.csv',
  ],
  [
    'every choice, quoted for the shell, and a file name of letters, digits and dashes',
    {
      slice: { tenant: "O'Hare & Zürich", from: '2001-01-01', to: '2001-01-02' },
      kind: '-x',
      columns: ['event_id', 'enrichment.a b'],
      profile: 'spreadsheet',
      header: false,
    },
    undefined,
    "--tenant 'O'\\''Hare & Zürich' --from 2001-01-01 --to 2001-01-02 --kind=-x --format csv " +
      "--columns 'event_id,enrichment.a b' --style spreadsheet --no-header " +
      "--out 'O-Hare---Zürich_2001-01-01_2001-01-02_-x.csv'",
  ],
  [
    'a compressed dataset by a job',
    { format: 'ndjson', compression: 'zstd', dataset: 'training', typed: true },
    'job',
    `${leaf} --dataset training --format ndjson --compression zstd --async --out TX_DFW_2001-03_training.ndjson.zst`,
  ],
  [
    'a typed Parquet, of which it says no more than that knows',
    { format: 'parquet', compression: 'gzip', profile: 'spreadsheet', header: false, typed: true },
    undefined,
    `${leaf} --format parquet --typed --out TX_DFW_2001-03.parquet`,
  ],
  [
    'a split of a version in place of the slice',
    { kind: 'x', version, split: 'test' },
    undefined,
    "--tenant TX --version 'q1 2001' --split test --format csv --out TX_q1-2001_test.csv",
  ],
])('the line for the shell says %s', (_, change, way, line) => {
  expect(exportLine({ ...plain, ...change }, days, way)).toBe(`svcctl analytics export ${line}`);
});
