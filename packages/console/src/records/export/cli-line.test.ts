import { describe, expect, it } from 'vitest';
import { shellLine } from '../../ui/words.ts';
import { exportLine } from './choice.ts';

const plain = { format: 'csv', compression: 'none', profile: 'machine', header: true } as const;

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
      "svcctl analytics export --tenant 'O'\\''Hare & Co' --from 2001-01-01 --to 2001-01-02 --kind=-x --format csv --columns 'event_id,enrichment.a b' --profile spreadsheet --no-header --out O-Hare---Co_2001-01-01_2001-01-02_-x.csv",
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

describe('shellLine', () => {
  it('quotes the empty word and everything a shell would read', () => {
    expect(shellLine(['a', '', '$HOME', 'x*y', '~'])).toBe("a '' '$HOME' 'x*y' '~'");
  });
});
