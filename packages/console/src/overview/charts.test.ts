import { expect, it } from 'vitest';
import { barsOfTiers } from './charts.tsx';

it('keeps what was hot and cold over days at whose end nobody looked', () => {
  const days = {
    from: '2026-02-27',
    count: [0, 0, 0, 0],
    hot_count: [null, 5, null, 7],
    cold_count: [null, 10, null, 9],
  };
  expect(barsOfTiers(days)).toEqual([
    { name: '2026-02-27', parts: [0, 0] },
    { name: '2026-02-28', parts: [10, 5] },
    { name: '2026-03-01', parts: [10, 5] },
    { name: '2026-03-02', parts: [9, 7] },
  ]);
});
