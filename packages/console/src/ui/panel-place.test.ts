import { expect, test } from 'vitest';
import { panelHref, panelText, parsePanel, readPanel } from './panel-place.ts';

const kinds = ['record', 'export', 'tenant'] as const;

test.each([
  { kind: 'export', id: '' },
  { kind: 'tenant', id: '*' },
  { kind: 'tenant', id: 'record' },
  { kind: 'record', id: 'TX/DFW/2001-03-01T00:05:00.000000Z/fl/0812' },
] as const)('carries %o through its text', (place) => {
  expect(parsePanel(panelText(place), kinds)).toEqual(place);
});

test('knows only the kinds of its page', () => {
  expect(parsePanel('delivery/dlv_1', kinds)).toBeUndefined();
  expect(parsePanel('exports', kinds)).toBeUndefined();
  expect(parsePanel(undefined, kinds)).toBeUndefined();
});

test('opens what a link of an earlier release named, unless the hash names a panel', () => {
  const older = { record: 'record', open: 'tenant' } as const;
  expect(readPanel({ record: 'TX/DFW' }, kinds, older)).toBe('record/TX/DFW');
  expect(readPanel({ open: 42 }, kinds, older)).toBe('tenant/42');
  expect(readPanel({ panel: 'export', open: '*' }, kinds, older)).toBe('export');
  expect(readPanel({ panel: 'nothing' }, kinds, older)).toBeUndefined();
});

test('links to a page with a panel', () => {
  const place = { kind: 'delivery', id: 'dlv_1' };
  expect(panelHref('/deliveries', place)).toBe('#/deliveries?panel=delivery/dlv_1');
  expect(panelHref('/deliveries', place, { endpoint: 'a&b', tenant: undefined })).toBe(
    '#/deliveries?endpoint=a%26b&panel=delivery/dlv_1',
  );
});
