import { expect, test } from 'vitest';
import { wordsOf } from './columns.tsx';

test.each([
  ['{"gate":"B,4}","delay":12}', 'gate: B,4}, delay: 12'],
  ['{"at":"14:07:09","list":[1,{"is":true}]', 'at: 14:07:09, list: 1, is: true'],
  ['{"note":"cut in the mid', 'note: cut in the mid'],
  ['"a text"', 'a text'],
  ['{"said":"\\"caf\\u00e9\\"","note":"cut \\u00', 'said: "café", note: cut \\u00'],
  [`"${'a'.repeat(79)}🛫🛬"`, `${'a'.repeat(79)}🛫…`],
  ['[]', ''],
  [`{"note":"${'a'.repeat(150)}`, `note: ${'a'.repeat(74)}…`],
])('data that begins as %s reads: %s', (excerpt, words) => {
  expect(wordsOf(excerpt)).toBe(words);
});
