import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DatasetRow } from '../../api/types.ts';
import {
  type Branch,
  findByPrefix,
  flatten,
  nodeAt,
  positionOf,
  rowKey,
  rowName,
} from './flat-tree.ts';

function row(key: string): DatasetRow {
  const [tenant = '', store = null, month = null] = key.split('/');
  return {
    tenant,
    store,
    month,
    count: 1,
    bytes: 1,
    coverage: 0,
    covered: 0,
    by_dataset: { training: 0, fine_tuning: 0 },
    tier: 'hot',
    stored_bytes: 1,
    digest: '0'.repeat(16),
    first_at: null,
    last_at: null,
  };
}

/** A store of whose months the names are known, and the second was read before. */
function unread(keys: string[]): Branch {
  const names = keys.map((key) => rowName(row(key)));
  return { rows: keys.slice(1, 2).map(row), names, tail: 'loading' };
}

function branch(keys: string[], tail: Branch['tail'] = 'none'): Branch {
  return { rows: keys.map(row), names: null, tail };
}

const branches = new Map<string, Branch>([
  ['', branch(['CA', 'NY', 'TX'])],
  ['CA', branch(['CA/LAX', 'CA/SFO'], 'more')],
  ['CA/SFO', branch(['CA/SFO/2001-01', 'CA/SFO/2001-02'])],
]);

function labels(open: string[]): string[] {
  const flat = flatten({ branches, open: new Set(open) });
  return Array.from({ length: flat.length }, (_, position) => {
    const node = nodeAt(flat, position);
    return node?.type === 'row' ? node.key : `(${node?.tail})`;
  });
}

describe('flatten', () => {
  it('lists only tenants while all are closed', () => {
    expect(labels([])).toEqual(['CA', 'NY', 'TX']);
  });

  it('puts open children between their parent and its next sibling', () => {
    expect(labels(['CA', 'CA/SFO', 'TX'])).toEqual([
      'CA',
      'CA/LAX',
      'CA/SFO',
      'CA/SFO/2001-01',
      'CA/SFO/2001-02',
      '(more)',
      'NY',
      'TX',
      '(loading)',
    ]);
  });

  it('ignores open nodes inside closed ones and unknown ones', () => {
    expect(labels(['CA/SFO', 'ZZ'])).toEqual(['CA', 'NY', 'TX']);
  });

  it('tells position among siblings, and not their number while more are to come', () => {
    const flat = flatten({ branches, open: new Set(['CA']) });
    expect(nodeAt(flat, 2)).toMatchObject({ level: 2, position: 2, siblings: -1, isOpen: false });
    expect(nodeAt(flat, 0)).toMatchObject({ level: 1, position: 1, siblings: 3, isOpen: true });
    expect(nodeAt(flat, flat.length)).toBeUndefined();
  });

  it('has a place for each row whose name is known, and of those that were read the row', () => {
    const leaves = ['TX/DFW/2001-01', 'TX/DFW/2001-02', 'TX/DFW/2001-03'];
    const known = new Map([
      ['', branch(['TX'])],
      ['TX', branch(['TX/DFW', 'TX/IAH'])],
      ['TX/DFW', unread(leaves)],
    ]);
    const flat = flatten({ branches: known, open: new Set(['TX', 'TX/DFW']) });
    expect(flat.length).toBe(6);
    const nodes = [2, 3, 4].map((position) => nodeAt(flat, position));
    const shared = { parent: 'TX/DFW', isDue: true, isFailed: false, level: 3, siblings: 3 };
    expect(nodes).toMatchObject(
      leaves.map((key, at) => ({ ...shared, key, name: key.slice(7), position: at + 1 })),
    );
    expect(nodes.map((node) => node?.type === 'row' && node.row)).toEqual([
      null,
      row('TX/DFW/2001-02'),
      null,
    ]);
    expect(nodeAt(flat, 5)).toMatchObject({ key: 'TX/IAH', isDue: false });
    expect(findByPrefix(flat, 3, '2001-03')).toBe(4);
  });

  it('answers the same as a list built one by one, and finds each node where it stands', () => {
    const shape = fc.array(
      fc.record({
        open: fc.boolean(),
        stores: fc.array(fc.tuple(fc.boolean(), fc.nat(3), fc.boolean()), { maxLength: 5 }),
      }),
      { maxLength: 8 },
    );
    fc.assert(
      fc.property(shape, (tenants) => {
        const all = new Map<string, Branch>();
        const open = new Set<string>();
        const expected: string[] = [];
        all.set('', branch(tenants.map((_, index) => `t${index}`)));
        for (const [index, tenant] of tenants.entries()) {
          const key = `t${index}`;
          expected.push(key);
          if (tenant.open) open.add(key);
          all.set(key, branch(tenant.stores.map((_, at) => `${key}/s${at}`)));
          for (const [at, [isOpen, months, isUnread]] of tenant.stores.entries()) {
            const store = `${key}/s${at}`;
            const leaves = Array.from(
              { length: months },
              (_, month) => `${store}/2001-0${month + 1}`,
            );
            all.set(store, isUnread ? unread(leaves) : branch(leaves));
            if (isOpen) open.add(store);
            if (tenant.open) expected.push(store, ...(isOpen ? leaves : []));
          }
        }
        const flat = flatten({ branches: all, open });
        expect(flat.length).toBe(expected.length);
        for (const [position, key] of expected.entries()) {
          expect(nodeAt(flat, position)).toMatchObject({ key });
          expect(positionOf(flat, key)).toBe(position);
        }
        expect(positionOf(flat, 't0/none')).toBe(-1);
      }),
    );
  });

  it('holds a million leaves', () => {
    const stores = Array.from({ length: 1000 }, (_, index) => `TX/S${index}`);
    const large = new Map<string, Branch>([
      ['', branch(['TX'])],
      ['TX', branch(stores)],
      ...stores.map((store): [string, Branch] => [
        store,
        branch(Array.from({ length: 1000 }, (_, index) => `${store}/${index}`)),
      ]),
    ]);
    const flat = flatten({ branches: large, open: new Set(['TX', ...stores]) });
    expect(flat.length).toBe(1_001_001);
    expect(nodeAt(flat, 1_001_000)).toMatchObject({ key: 'TX/S999/999' });
    expect(positionOf(flat, 'TX/S999/999')).toBe(1_001_000);
  });
});

describe('findByPrefix', () => {
  it('goes on from where it is, around the end, whatever the case', () => {
    const flat = flatten({ branches, open: new Set(['CA']) });
    expect(findByPrefix(flat, 0, 't')).toBe(5);
    expect(findByPrefix(flat, 3, 'la')).toBe(1);
    expect(findByPrefix(flat, 0, 'zz')).toBe(-1);
  });
});

describe('rowKey', () => {
  it('names a row by its level', () => {
    expect([rowKey(row('TX')), rowKey(row('TX/DFW')), rowKey(row('TX/DFW/2001-03'))]).toEqual([
      'TX',
      'TX/DFW',
      'TX/DFW/2001-03',
    ]);
    expect(rowName(row('TX/DFW'))).toBe('DFW');
  });
});
