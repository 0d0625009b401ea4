import { expect, test } from 'vitest';
import { findStyleFaults } from './style-words.mjs';

const part = `import classes from './a.module.css';
const tone = isWrong ? 'danger' : 'ok';
<p className={\`row \${classes.head} \${tone}\`} title="none">`;
const words = '@layer shared { .row { gap: 0.5px } .ok, .danger { color: red } }';

test('classes and words that are used are no faults', () => {
  const files = [
    ['a.tsx', part],
    ['a.module.css', '.head > p { margin: 0 }'],
    ['shared.css', words],
  ];
  expect(findStyleFaults(files)).toEqual([]);
});

test('finds classes that nobody uses, and words that no sheet has', () => {
  const files = [
    ['a.tsx', part.replace('row', 'wor')],
    ['a.module.css', '.head {} @media (x) { .foot {} }'],
    ['shared.css', words],
  ];
  expect(findStyleFaults(files)).toEqual([
    'a.module.css: nobody uses .foot\n',
    'shared.css: nobody uses .row\n',
    'no style sheet has the word wor of a className\n',
  ]);
});
