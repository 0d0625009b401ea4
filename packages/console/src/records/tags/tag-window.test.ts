import { describe, expect, it } from 'vitest';
import { windowText } from '../search.ts';
import { faultOf, quartersOf, tagOf, valuesOf } from './tag-window.ts';

const leaf = { tenant: 'TX', store: 'DFW', month: '2001-02' };

describe('the window of a new tag', () => {
  it('begins with what is chosen on the page', () => {
    expect(valuesOf({ tenant: 'TX' }).window).toBe('all');
    expect(valuesOf({ tenant: 'TX', months: ['2000-11', '2001-02'] })).toMatchObject({
      window: 'range',
      from: '2000-11-01',
      to: '2001-02-28',
    });
    expect(valuesOf({ ...leaf, months: ['2000-11', '2001-02'] }).window).toBe('month');
    expect(valuesOf(leaf)).toMatchObject({ window: 'month', from: '2001-02-01', to: '2001-02-28' });
    expect(valuesOf({ ...leaf, from: '2001-02-03', to: '2001-02-05' })).toMatchObject({
      window: 'range',
      from: '2001-02-03',
      to: '2001-02-05',
    });
  });

  it('needs two days that follow each other', () => {
    const range = (from: string, to: string) =>
      faultOf({ ...valuesOf(leaf), window: 'range', from, to });
    expect(range('', '2001-02-05')).toMatch(/first and the last day/);
    expect(range('2001-02-30', '2001-03-05')).toMatch(/first and the last day/);
    expect(range('2001-02-06', '2001-02-05')).toMatch(/after the last/);
    expect(range('2001-02-05', '2001-02-05')).toBeNull();
  });

  it('is sent as the service names it', () => {
    const values = valuesOf(leaf);
    expect(tagOf(leaf, values)).toEqual({ ...leaf, dataset: 'training' });
    expect(tagOf(leaf, { ...values, window: 'all', note: ' q1 ' })).toEqual({
      tenant: 'TX',
      store: 'DFW',
      dataset: 'training',
      note: 'q1',
    });
    expect(tagOf({ tenant: 'TX' }, { ...values, window: 'range', dataset: 'fine_tuning' })).toEqual(
      {
        tenant: 'TX',
        from: '2001-02-01',
        to: '2001-02-28',
        dataset: 'fine_tuning',
      },
    );
  });
});

describe('quartersOf', () => {
  it('names the quarters between two months, also over the end of a year', () => {
    expect(quartersOf(['2000-11', '2001-02'])).toEqual([
      { name: '2000 Q4', from: '2000-10-01', to: '2000-12-31' },
      { name: '2001 Q1', from: '2001-01-01', to: '2001-03-31' },
    ]);
  });

  it('keeps the eight newest', () => {
    const names = quartersOf(['1998-01', '2001-02']).map(({ name }) => name);
    expect(names).toHaveLength(8);
    expect(names[0]).toBe('1999 Q2');
  });
});

describe('windowText', () => {
  it('names months, days and open ends', () => {
    expect(
      [
        [null, null],
        ['2001-02-01', '2001-02-28'],
        ['2001-02-01', '2001-03-31'],
        ['2001-02-05', '2001-02-05'],
        ['2001-02-05', null],
        [null, '2001-02-05'],
      ].map(([from = null, to = null]) => windowText(from, to)),
    ).toEqual([
      'all days',
      '2001-02',
      '2001-02-01 … 2001-03-31',
      '2001-02-05',
      'from 2001-02-05 on',
      'until 2001-02-05',
    ]);
  });
});
