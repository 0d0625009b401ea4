import { describe, expect, it } from 'vitest';
import { windowText } from '../search.ts';
import { newByTag, tagOf, valuesOf } from './tag-window.ts';

const leaf = { tenant: 'TX', store: 'DFW', month: '2001-02' };

describe('the days of a new tag', () => {
  it('begin with what is chosen on the page', () => {
    const daysOf = (place: Parameters<typeof valuesOf>[0]) => {
      const { from, to } = valuesOf(place);
      return [from, to];
    };
    const months = ['2000-11', '2001-02'] as const;
    expect(daysOf({ tenant: 'TX' })).toEqual([undefined, undefined]);
    expect(daysOf({ tenant: 'TX', months })).toEqual(['2000-11-01', '2001-02-28']);
    expect(daysOf({ ...leaf, months })).toEqual(['2001-02-01', '2001-02-28']);
    const chosen = { ...leaf, from: '2001-02-03', to: '2001-02-05' };
    expect(daysOf(chosen)).toEqual(['2001-02-03', '2001-02-05']);
  });

  it('are sent as the service names them', () => {
    const values = valuesOf(leaf);
    const days = { from: '2001-02-01', to: '2001-02-28' };
    const store = { tenant: 'TX', store: 'DFW' };
    expect(tagOf(leaf, values)).toEqual({ ...store, ...days, dataset: 'training' });
    const all = { ...values, from: undefined, to: undefined, note: ' q1 ' };
    expect(tagOf(leaf, all)).toEqual({ ...store, dataset: 'training', note: 'q1' });
    expect(tagOf({ tenant: 'TX' }, { ...values, to: undefined })).toMatchObject({
      from: '2001-02-01',
      to: '2999-12-31',
    });
  });
});

it('adds the days and the records that the dataset has not yet', () => {
  const day = (count: number, training: number) => ({
    day: '2001-02-01',
    count,
    bytes: 1,
    tier: 'hot' as const,
    covered: count,
    by_dataset: { training, fine_tuning: count },
  });
  const days = [day(5, 5), day(8, 3), day(4, 0), day(0, 0)];
  expect(newByTag(days, 'training')).toEqual({ days: 3, newDays: 2, newCount: 9 });
  expect(newByTag(days, 'fine_tuning')).toEqual({ days: 3, newDays: 0, newCount: 0 });
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
