import { expect, test } from 'vitest';
import { readGroupTable } from '../kernel/group-table.ts';
import { rightsOf } from './people.ts';

const table = readGroupTable(
  JSON.stringify({
    ops: 'admin',
    tx: { preset: 'support-readonly', tenants: ['TX'] },
    ca: { scopes: ['analytics:read', 'enrichment:read'], tenants: ['CA'] },
    tag: { preset: 'curator', tenants: ['NY'] },
    desk: 'support-readonly',
  }),
);

test.each([
  [[], null],
  [['chess'], null],
  [['chess', 'ops'], { scopes: ['admin'], tenants: null }],
  [['tx', 'ops'], { scopes: ['admin'], tenants: null }],
  [['tx'], { scopes: ['enrichment:read', 'analytics:read'], tenants: ['TX'] }],
  [['ca', 'tx'], { scopes: ['enrichment:read', 'analytics:read'], tenants: ['TX', 'CA'] }],
  [['tx', 'desk'], { scopes: ['enrichment:read', 'analytics:read'], tenants: null }],
  // A curator of NY must not become one of TX.
  [['tx', 'tag'], { scopes: ['enrichment:read', 'analytics:read'], tenants: ['TX'] }],
])('who is in %j may do %j', (groups, rights) => {
  expect(rightsOf(groups, table)).toEqual(rights);
});

test.each([
  ['', 'is not JSON'],
  ['ops=admin', 'is not JSON'],
  ['[]', 'is not an object'],
  ['{}', 'names no group'],
  ['{"ops":"root"}', '"ops": "root" is not one of'],
  ['{"ops":5}', '"ops" is neither a preset nor an object'],
  ['{"ops":{}}', '"ops" must have either preset or scopes'],
  ['{"ops":{"preset":"admin","scopes":["admin"]}}', '"ops" must have either'],
  ['{"ops":{"scopes":["root"]}}', '"ops": "root" is not one of'],
  ['{"ops":{"preset":"admin","tenants":[]}}', 'the tenants of "ops" are no list'],
  ['{"ops":{"preset":"admin","tenant":["TX"]}}', '"ops" has tenant, which means nothing'],
])('the table %j is refused: %s', (text, words) => {
  expect(() => readGroupTable(text)).toThrow(words);
});
