import { expect, test } from 'vitest';
import { nameMissing } from './replication.ts';

test.each([
  ['', [], []],
  ['nas', [], ['nas']],
  ['nas', ['NAS'], []],
  // One is enough of a list without a number.
  ['nas, cellar', ['cellar'], []],
  ['FIRST 2 (nas, cellar, attic)', ['cellar'], ['nas', 'attic']],
  ['ANY 1 ("the nas", cellar)', ['backup'], ['the nas', 'cellar']],
  ['2 (nas, cellar)', ['nas', 'cellar'], []],
  ['*', [], ['*']],
  ['*', ['anyone'], []],
  // The role may not see the name: somebody is there.
  ['nas', [null], []],
])('of %j and those connected %j, %j are missing', (setting, connected, missing) => {
  expect(nameMissing(setting, connected)).toEqual(missing);
});
