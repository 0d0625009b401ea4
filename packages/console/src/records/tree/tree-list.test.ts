import { describe, expect, it } from 'vitest';
import type { DatasetRow } from '../../api/types.ts';
import { flatten } from './flat-tree.ts';
import { moveInTree } from './tree-list.tsx';

function row(key: string): DatasetRow {
  const [tenant = '', store = null, month = null] = key.split('/');
  return { tenant, store, month } as DatasetRow;
}

const branch = (...keys: string[]) => ({ rows: keys.map(row), names: null, tail: 'none' as const });
const flat = flatten({
  branches: new Map([
    ['', branch('CA', 'TX')],
    ['CA', branch('CA/LAX', 'CA/SFO', 'CA/SJC')],
  ]),
  open: new Set(['CA']),
});
const press = (at: number, key: string, typed = '') =>
  moveInTree(flat, at, { key, typed, pageRows: 3 });

describe('moveInTree', () => {
  it('moves line by line, page by page and to the ends, and stays inside', () => {
    expect(press(0, 'ArrowDown')).toEqual({ type: 'go', position: 1 });
    expect(press(0, 'ArrowUp')).toEqual({ type: 'go', position: 0 });
    expect(press(0, 'PageDown')).toEqual({ type: 'go', position: 3 });
    expect(press(3, 'End')).toEqual({ type: 'go', position: 4 });
    expect(press(3, 'Home')).toEqual({ type: 'go', position: 0 });
  });

  it('opens, steps in, steps out and closes', () => {
    expect(press(4, 'ArrowRight')).toEqual({ type: 'open', key: 'TX' });
    expect(press(0, 'ArrowRight')).toEqual({ type: 'go', position: 1 });
    expect(press(2, 'ArrowLeft')).toEqual({ type: 'go', position: 0 });
    expect(press(0, 'ArrowLeft')).toEqual({ type: 'close', key: 'CA' });
    expect(press(4, 'ArrowLeft')).toBeNull();
  });

  it('chooses, opens siblings and finds what is typed', () => {
    expect(press(1, 'Enter')).toEqual({ type: 'choose', key: 'CA/LAX' });
    expect(press(2, '*')).toEqual({ type: 'openSiblings', keys: ['CA/SFO', 'CA/SJC'] });
    expect(press(1, 's', 's')).toEqual({ type: 'go', position: 2 });
    expect(press(2, 'j', 'sj')).toEqual({ type: 'go', position: 3 });
    expect(press(2, 's', 's')).toEqual({ type: 'go', position: 3 });
    expect(press(2, 's', 'ss')).toEqual({ type: 'go', position: 3 });
    expect(press(2, 'x', 'sx')).toBeNull();
    expect(press(0, 'Tab')).toBeNull();
  });
});
