import { describe, expect, it } from 'vitest';
import { defaultColumns, exportColumns, recordColumns } from '../../api/values.ts';
import {
  betterWay,
  bodyOf,
  choiceOf,
  type ExportChoice,
  exportLine,
  fileName,
  firstChoices,
  isJobOnly,
  isOfGroups,
  isUncounted,
  parsePaths,
  selectionOf,
} from './choice.ts';

const plain: ExportChoice = {
  slice: { tenant: 'TX', store: 'DFW', month: '2001-03' },
  format: 'csv',
  compression: 'none',
  profile: 'machine',
  header: true,
};
const version = { id: 'dsv_1', name: 'q1 2001' };

describe('selectionOf', () => {
  it('says slice, kind and dataset', () => {
    expect(selectionOf({ ...plain, kind: 'arrival', dataset: 'training' })).toEqual({
      tenant: 'TX',
      store: 'DFW',
      month: '2001-03',
      kind: 'arrival',
      dataset: 'training',
    });
  });

  it('says of a version nothing that the service excludes beside it', () => {
    const choice = { ...plain, kind: 'arrival', dataset: 'training', version, split: 'test' };
    expect(selectionOf(choice as ExportChoice)).toEqual({
      tenant: 'TX',
      version: 'dsv_1',
      split: 'test',
    });
  });
});

describe('bodyOf', () => {
  it('says profile and header of a CSV', () => {
    expect(bodyOf({ ...plain, compression: 'gzip' })).toEqual({
      ...plain.slice,
      compression: 'gzip',
      profile: 'machine',
      header: true,
    });
  });

  it('says no more than NDJSON and Parquet know', () => {
    const columns = ['event_id'];
    expect(bodyOf({ ...plain, format: 'ndjson', columns })).toEqual({ ...plain.slice, columns });
    expect(bodyOf({ ...plain, format: 'parquet', compression: 'zstd' })).toEqual(plain.slice);
  });
});

describe('lines by a template', () => {
  const of = (change: object) =>
    choiceOf({
      ...{ slice: plain.slice, kind: undefined, versions: [] },
      choices: { ...firstChoices, format: 'ndjson', ...change },
    });

  it('are asked for as NDJSON only, without columns, by a job', () => {
    const { choice } = of({
      lines: 'openai-chat',
      missing: 'skip',
      columns: ['kind'],
      pathText: 'a',
    });
    expect(bodyOf(choice)).toEqual({
      ...plain.slice,
      ...{ template: 'openai-chat', missing: 'skip' },
    });
    expect(isJobOnly(choice)).toBe(true);
    expect(isUncounted(choice)).toBe(false);
    expect(exportLine(choice, null, 'job')).toContain(
      '--template openai-chat --missing skip --async',
    );
    const csv = of({ lines: 'openai-chat', format: 'csv' }).choice;
    expect([isJobOnly(csv), bodyOf(csv)]).toEqual([
      false,
      expect.not.objectContaining({ missing: 'refuse' }),
    ]);
  });

  it('are those of a JSON object of one’s own, which the command line takes from a file', () => {
    const { choice, templateFault } = of({ lines: 'own', templateText: '{"a":"{{b}}"}' });
    expect([templateFault, choice.template]).toEqual([null, { a: '{{b}}' }]);
    expect(exportLine(choice, null, 'job')).toContain('--template @template.json --async');
    expect(of({ lines: 'own' }).templateFault).toContain('write a JSON object');
    expect(of({ lines: 'own', templateText: '[1]' }).templateFault).toContain('no object');
    expect(of({ lines: 'own', templateText: '{' }).templateFault).toContain('no JSON');
    expect(of({ lines: 'own', templateText: '{', format: 'csv' }).templateFault).toBeNull();
  });
});

describe('a split of a version with groups', () => {
  const grouped = { ...plain, version: { ...version, group_by: 'plate' } };

  it('is uncounted and made by a job; the whole version, and one without groups, are not', () => {
    const split = { ...grouped, split: 'test' } as const;
    expect([isUncounted(split), isJobOnly(split), isOfGroups(split)]).toEqual([true, true, true]);
    expect([isUncounted(grouped), isJobOnly(grouped)]).toEqual([false, false]);
    const plainSplit = {
      ...plain,
      version: { ...version, group_by: null },
      split: 'test',
    } as const;
    expect(isJobOnly(plainSplit)).toBe(false);
    expect(isUncounted({ ...grouped, where: 'a = 1' })).toBe(true);
  });
});

describe('a typed file', () => {
  const typed = { ...plain, format: 'parquet', typed: true } as const;
  const faultOf = (change: object) =>
    choiceOf({
      ...{ slice: plain.slice, kind: undefined, versions: [] },
      choices: { ...firstChoices, format: 'parquet', typed: true, ...change },
    }).fault;

  it('is asked for as Parquet only', () => {
    expect(bodyOf(typed)).toEqual({ ...plain.slice, typed: true });
    expect(bodyOf({ ...typed, format: 'ndjson' })).toEqual(plain.slice);
    expect(exportLine(typed, null, 'job')).toContain('--format parquet --typed --async');
    expect(exportLine({ ...typed, format: 'csv' }, null)).not.toContain('--typed');
  });

  it('has the fields in the place of the enrichment, and no paths beside them', () => {
    expect(faultOf({})).toBeNull();
    expect(faultOf({ columns: ['event_id'] })).toContain('choose enrichment');
    expect(faultOf({ pathText: 'score' })).toContain('all fields');
    expect(faultOf({ format: 'csv', columns: ['event_id'], pathText: 'score' })).toBeNull();
  });
});

describe('fileName', () => {
  it('holds nothing but letters, digits, dot, dash and underscore', () => {
    expect(fileName({ ...plain, slice: { tenant: 'a:b c', store: 'Zürich' } })).toBe(
      'a-b-c_Zürich.csv',
    );
  });

  it('ends as its format and compression do', () => {
    expect(fileName({ ...plain, format: 'ndjson', compression: 'zstd' })).toBe(
      'TX_DFW_2001-03.ndjson.zst',
    );
    expect(fileName({ ...plain, format: 'parquet', compression: 'gzip' })).toBe(
      'TX_DFW_2001-03.parquet',
    );
  });

  it('names version and split in place of the slice', () => {
    expect(fileName({ ...plain, version, split: 'train' })).toBe('TX_q1-2001_train.csv');
  });
});

describe('betterWay', () => {
  it('is a job above 500,000 rows', () => {
    expect([undefined, 500_000, 500_001].map(betterWay)).toEqual(['now', 'now', 'job']);
  });
});

describe('defaultColumns', () => {
  it('has the split only where there are splits, and of NDJSON the record as it was sent', () => {
    expect(defaultColumns('csv', true)).toEqual(exportColumns);
    expect(defaultColumns('parquet', false)).not.toContain('split');
    expect(defaultColumns('ndjson', true)).toEqual(recordColumns);
  });
});

describe('parsePaths', () => {
  it('takes paths with and without their first name, once each', () => {
    expect(parsePaths('origin.iata, enrichment.score\nscore,,').paths).toEqual([
      'enrichment.origin.iata',
      'enrichment.score',
    ]);
  });

  it('says what is no path', () => {
    expect(parsePaths('a..b').fault).toContain('a..b');
    expect(parsePaths('')).toEqual({ paths: [], fault: null });
  });
});

describe('exportLine', () => {
  it('says the leaf', () => {
    const slice = { tenant: 'TX', store: 'DFW', month: '2001-03' };
    expect(exportLine({ ...plain, slice }, ['2001-03-01', '2001-03-31'])).toBe(
      'svcctl analytics export --tenant TX --store DFW --month 2001-03 --format csv --out TX_DFW_2001-03.csv',
    );
  });

  it('says the days of a whole tenant, because the command line wants some', () => {
    expect(exportLine({ ...plain, slice: { tenant: 'TX' } }, ['2001-01-01', '2001-03-31'])).toBe(
      'svcctl analytics export --tenant TX --from 2001-01-01 --to 2001-03-31 --format csv --out TX.csv',
    );
  });

  it('says every choice, quoted for the shell', () => {
    const slice = { tenant: "O'Hare & Co", from: '2001-01-01', to: '2001-01-02' };
    const line = exportLine(
      {
        ...plain,
        slice,
        kind: '-x',
        columns: ['event_id', 'enrichment.a b'],
        profile: 'spreadsheet',
        header: false,
      },
      null,
    );
    expect(line).toBe(
      "svcctl analytics export --tenant 'O'\\''Hare & Co' --from 2001-01-01 --to 2001-01-02 --kind=-x --format csv --columns 'event_id,enrichment.a b' --style spreadsheet --no-header --out O-Hare---Co_2001-01-01_2001-01-02_-x.csv",
    );
  });
});

describe('exportLine of other formats', () => {
  const slice = { tenant: 'TX', store: 'DFW', month: '2001-03' };

  it('says format, compression, dataset and that it is a job', () => {
    const choice = { ...plain, slice, format: 'ndjson', compression: 'gzip' } as const;
    expect(exportLine({ ...choice, dataset: 'training' }, null, 'job')).toBe(
      'svcctl analytics export --tenant TX --store DFW --month 2001-03 --dataset training --format ndjson --compression gzip --async --out TX_DFW_2001-03_training.ndjson.gz',
    );
  });

  it('says of Parquet nothing that it does not know', () => {
    const choice = { ...plain, slice, format: 'parquet', compression: 'gzip' } as const;
    expect(exportLine({ ...choice, profile: 'spreadsheet', header: false }, null)).toBe(
      'svcctl analytics export --tenant TX --store DFW --month 2001-03 --format parquet --out TX_DFW_2001-03.parquet',
    );
  });

  it('says version and split in place of the slice', () => {
    const version = { id: 'dsv_1', name: 'q1' };
    expect(exportLine({ ...plain, slice, kind: 'x', version, split: 'test' }, null)).toBe(
      'svcctl analytics export --tenant TX --version q1 --split test --format csv --out TX_q1_test.csv',
    );
  });
});
