import { describe, expect, it } from 'vitest';
import { niceTicks, rampOf, shadeOf, shortCount, thinLabels, timeLabels } from './scale.ts';

describe('niceTicks', () => {
  it('begins at zero, and has round steps up to the most', () => {
    expect(niceTicks(913)).toEqual([0, 500]);
    expect(niceTicks(26_815)).toEqual([0, 10_000, 20_000]);
    expect(niceTicks(600)).toEqual([0, 200, 400, 600]);
    expect(niceTicks(61)).toEqual([0, 25, 50]);
    expect(niceTicks(5000, 5)).toEqual([0, 1000, 2000, 3000, 4000, 5000]);
  });

  it('counts whole things', () => {
    expect(niceTicks(1)).toEqual([0, 1]);
    expect(niceTicks(2)).toEqual([0, 1, 2]);
    expect(niceTicks(7)).toEqual([0, 3, 6]);
  });

  it('has an axis for nothing', () => {
    expect(niceTicks(0)).toEqual([0, 1]);
  });
});

describe('rampOf and shadeOf', () => {
  it('has five round steps, and the most has the darkest', () => {
    const ramp = rampOf(913);
    expect(ramp).toEqual([1, 200, 400, 600, 800]);
    expect([0, 1, 199, 200, 799, 800, 913].map((count) => shadeOf(count, ramp))).toEqual([
      0, 1, 1, 2, 4, 5, 5,
    ]);
  });

  it('gives every most the darkest shade, and nothing none', () => {
    for (let most = 1; most < 20_000; most = Math.ceil(most * 1.07)) {
      const ramp = rampOf(most);
      expect([most, shadeOf(most, ramp), shadeOf(0, ramp)]).toEqual([most, 5, 0]);
      expect(ramp.length).toBeGreaterThanOrEqual(Math.min(4, most));
      expect([...new Set(ramp)].toSorted((a, b) => a - b)).toEqual(ramp);
    }
  });
});

describe('shortCount', () => {
  it('has three figures and a unit', () => {
    expect([0, 850, 1200, 25_000, 3_000_000, 1_250_000_000].map(shortCount)).toEqual([
      '0',
      '850',
      '1.2k',
      '25k',
      '3M',
      '1.25G',
    ]);
  });
});

describe('labels of an axis', () => {
  const days = (month: string, count: number) =>
    Array.from({ length: count }, (_, index) => `${month}-${String(index + 1).padStart(2, '0')}`);
  const width = (text: string) => text.length * 6;

  it('numbers the days of a month, and leaves out those that would touch', () => {
    const labels = timeLabels(days('2001-01', 31));
    expect(labels.map(({ text }) => text).slice(0, 3)).toEqual(['1', '2', '3']);
    expect(thinLabels(labels, 24, width)).toHaveLength(31);
    expect(thinLabels(labels, 8, width).map(({ text }) => text)).toEqual([
      ...['1', '4', '7', '10', '13', '16', '19', '22', '25', '28', '31'],
    ]);
  });

  it('names days at midnight, and every sixth hour between', () => {
    const hours = Array.from({ length: 30 }, (_, at) => {
      const hour = (at + 10) % 24;
      return `2001-01-${at < 14 ? '31' : '32'} ${String(hour).padStart(2, '0')}:00`;
    });
    expect(timeLabels(hours).map(({ index, text }) => `${index} ${text}`)).toEqual([
      ...['2 12:00', '8 18:00', '14 01-32', '20 06:00', '26 12:00'],
    ]);
  });

  it('names months at their first day, and years where there are many months', () => {
    expect(timeLabels([...days('2001-01', 31), ...days('2001-02', 28)])).toEqual([
      { index: 0, text: '2001-01' },
      { index: 31, text: '2001-02' },
    ]);
    const months = Array.from(
      { length: 30 },
      (_, index) => `${2001 + Math.floor((index + 6) / 12)}-${pad(((index + 6) % 12) + 1)}`,
    );
    expect(timeLabels(months)).toEqual([
      { index: 6, text: '2002' },
      { index: 18, text: '2003' },
    ]);
  });
});

function pad(number: number): string {
  return String(number).padStart(2, '0');
}
