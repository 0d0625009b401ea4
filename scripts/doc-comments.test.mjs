import { expect, test } from 'vitest';
import { checkDocComments, findStrayDocComments } from './doc-comments.mjs';

test.each([
  ['a blank line', '\nexport const a = 1;\n'],
  ['another doc comment', '/** Tells of a. */\nexport const a = 1;\n'],
  ['another comment', '// Why it is one.\nexport const a = 1;\n'],
  ['the end of a block', '  }\n'],
  ['the end of a list', '  ]);\n'],
  ['the end of the file', ''],
])('a doc comment before %s is found', (_what, rest) => {
  expect(findStrayDocComments(`const b = 2;\n/** Of one line. */\n${rest}`)).toContain(2);
  expect(findStrayDocComments(`  /**\n   * Of several *lines*.\n   */\n${rest}`)).toContain(1);
});

test.each([
  ['/** Tells of a. */\nexport const a = 1;\n'],
  ['/** Tells of a. */\n// biome-ignore lint/style/useConst: it says why\nlet a = 1;\n'],
  ['/** @typedef {{ a: number }} A */\n\nconst b = 2;\n'],
  ['const a = [/** Tells of one. */ 1];\nconst files = "/**";\n// All of src/**/*.ts\n\n'],
  ['/* No doc comment. */\n\nconst a = 1;\n'],
])('%j has none', (text) => {
  expect(findStrayDocComments(text)).toEqual([]);
});

test('no doc comment of this repository stands before nothing', () => {
  expect(checkDocComments()).toBe('');
});
