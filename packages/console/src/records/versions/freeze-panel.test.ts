import { describe, expect, it } from 'vitest';
import { firstValues, shareFaultOf, versionOf } from './freeze-panel.tsx';

const withShares = (train: string, validation: string, test: string) => ({
  ...firstValues,
  train,
  validation,
  test,
});

describe('the shares of a version', () => {
  it('are 100 together, or none', () => {
    expect(shareFaultOf(firstValues)).toBeNull();
    expect(shareFaultOf(withShares('', '', ' '))).toBeNull();
    expect(shareFaultOf(withShares('100', '0', '0'))).toBeNull();
    expect(shareFaultOf(withShares('80', '10', '5'))).toBe(
      '80 + 10 + 5 = 95: they must be 100 together.',
    );
  });

  it('are whole percentages', () => {
    for (const text of ['', '-10', '10.5', '110', 'x']) {
      expect(shareFaultOf(withShares('80', text, '10'))).toMatch(/three whole percentages/);
    }
  });
});

describe('a new version', () => {
  it('needs a name', () => {
    expect(versionOf('TX', { ...firstValues, name: ' ' })).toBeNull();
    expect(versionOf('TX', { ...withShares('1', '', ''), name: 'q1' })).toBeNull();
  });

  it('has shares and a note only when they are given', () => {
    expect(versionOf('TX', { ...firstValues, name: ' q1 ', where: ' a = 1 ' })).toEqual({
      tenant: 'TX',
      dataset: 'training',
      name: 'q1',
      shares: { train: 80, validation: 10, test: 10 },
      where: 'a = 1',
    });
    expect(versionOf('TX', { ...withShares('', '', ''), name: 'q1', note: 'first' })).toEqual({
      tenant: 'TX',
      dataset: 'training',
      name: 'q1',
      note: 'first',
    });
  });

  it('keeps groups together only where there are shares', () => {
    const grouped = { name: 'q1', groupBy: ' camera_id ' };
    expect(versionOf('TX', { ...firstValues, ...grouped })).toMatchObject({
      group_by: 'camera_id',
    });
    expect(versionOf('TX', { ...withShares('', '', ''), ...grouped })).not.toHaveProperty(
      'group_by',
    );
  });
});
