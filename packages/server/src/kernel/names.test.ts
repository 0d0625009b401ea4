import { expect, test } from 'vitest';
import { isHiddenName } from './names.ts';

test.each([
  ...[
    'a\u200bb',
    'a\u00ad',
    'a\u202eb',
    'a\u2066',
    '\ufeffa',
    'a\u2028b',
    ' a',
    'a\u3000',
    '\u00a0a',
  ],
  ...['a\u034fb', 'a\u3164', '\u115fa', 'a\u{e0041}b', 'a\ufe0f', '\u180ea', 'a\u206ab', '\u2061a'],
  ...[
    '👩\u200da',
    '👩\u200d👩',
    '🏳\u200d🌈',
    '🙂\ufe0f',
    '👨\u200d👩\u200d👧\u200d',
    '🚀\u{e007f}',
  ],
])('%j holds what cannot be seen', (name) => {
  expect(isHiddenName(name)).toBe(true);
});

test.each([
  ...[
    'Acme Air',
    'Ångström',
    'e\u0301',
    '漢字',
    'שלום',
    '\u2708\ufe0f Air',
    '한글',
    'a\u00a0b',
    '👍🏽',
  ],
  ...[
    '👩🏽\u200d🚀',
    'The 👨\u200d👩\u200d👧\u200d👦 Inc',
    '🏳\ufe0f\u200d🌈',
    '1\ufe0f\u20e3',
    '🇩🇪',
  ],
])('%j holds and looks like nothing else', (name) => {
  expect(isHiddenName(name)).toBe(false);
});
