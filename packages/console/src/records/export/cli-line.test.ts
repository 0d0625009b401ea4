import { describe, expect, it } from 'vitest';
import { shellLine } from '../shell-line.ts';
import { exportLine, fileName } from './cli-line.ts';

const plain = { profile: 'machine', header: true } as const;

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

describe('shellLine', () => {
  it('quotes the empty word and everything a shell would read', () => {
    expect(shellLine(['a', '', '$HOME', 'x*y', '~'])).toBe("a '' '$HOME' 'x*y' '~'");
  });
});

describe('fileName', () => {
  it('holds nothing but letters, digits, dot, dash and underscore', () => {
    expect(fileName({ ...plain, slice: { tenant: 'a:b c', store: 'Zürich' } })).toBe(
      'a-b-c_Zürich.csv',
    );
  });
});
