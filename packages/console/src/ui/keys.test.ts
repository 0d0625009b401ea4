import { expect, test } from 'vitest';
import { nameOfPress } from './keys.ts';

const press = (key: string, modifiers = {}) => ({
  key,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  ...modifiers,
});

test('single keys rest while someone types', () => {
  expect(nameOfPress(press('?'), false)).toBe('?');
  expect(nameOfPress(press('?'), true)).toBeUndefined();
});

test('Ctrl and Cmd work everywhere', () => {
  expect(nameOfPress(press('K', { ctrlKey: true }), true)).toBe('mod+k');
  expect(nameOfPress(press('k', { metaKey: true }), false)).toBe('mod+k');
});

test.each(['Enter', 'ArrowDown', ' '])('%j is left to the control that has the focus', (key) => {
  expect(nameOfPress(press(key), false)).toBeUndefined();
});
