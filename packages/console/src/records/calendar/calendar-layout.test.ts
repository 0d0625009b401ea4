import { describe, expect, it } from 'vitest';
import { spanOf } from './calendar-layout.ts';

describe('spanOf', () => {
  it('goes from the month of the first record to that of the last', () => {
    expect(spanOf('2000-12-31T23:00:00Z', '2001-02-01T00:00:00Z', {})).toEqual({
      months: ['2000-12', '2001-01', '2001-02'],
      from: '2000-12-01',
      to: '2001-02-28',
      years: [
        { year: 2000, count: null },
        { year: 2001, count: null },
      ],
    });
  });

  const first = '1987-10-05T00:00:00Z';
  const last = '2008-03-31T00:00:00Z';
  const endsOf = (of: Parameters<typeof spanOf>[2]) => {
    const span = spanOf(first, last, of);
    return [span?.from, span?.to];
  };

  it('shows three years of a longer time, the last ones first', () => {
    expect(endsOf({})).toEqual(['2006-01-01', '2008-03-31']);
    expect(endsOf({ wanted: 2000 })).toEqual(['1998-01-01', '2000-12-31']);
    expect(endsOf({ wanted: 1980 })).toEqual(['1987-10-01', '1987-12-31']);
  });

  it('opens where the data is, and not beyond a year without', () => {
    const years = [
      { year: 1987, count: 40_000 },
      { year: 1999, count: 900_000 },
      { year: 2000, count: 800_000 },
      { year: 2008, count: 30 },
    ];
    expect(endsOf({ years })).toEqual(['1999-01-01', '2000-12-31']);
    expect(endsOf({ years, wanted: 2008 })).toEqual(['2008-01-01', '2008-03-31']);
    expect(endsOf({ years, wanted: 2003 })).toEqual(['1999-01-01', '2000-12-31']);
  });

  it('is none where nothing is stored', () => {
    expect(spanOf(null, null, { wanted: 2001 })).toBeNull();
  });
});
