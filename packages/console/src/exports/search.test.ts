import { expect, test } from 'vitest';
import { exportHref } from '../ui/panel-place.ts';
import { validateExportsSearch } from './search.ts';

test('drops what it does not understand', () => {
  const raw = { tenant: 'TX', state: 'lost', cursor: '', colour: 'red' };
  expect(validateExportsSearch(raw)).toEqual({ tenant: 'TX' });
});

test('keeps filters, page and panel', () => {
  const raw = { tenant: 'TX', state: 'running', cursor: 'abc', panel: 'export/exp_1' };
  expect(validateExportsSearch(raw)).toEqual(raw);
});

test('links to a job', () => {
  expect(exportHref('exp_1')).toBe('#/exports?panel=export/exp_1');
});
