import { describe, expect, it } from 'vitest';
import {
  changeFilters,
  chooseNode,
  chosenDays,
  chosenNode,
  decodeOpen,
  decodeRecord,
  encodeOpen,
  encodeRecord,
  type RecordsSearch,
  sliceOf,
  validateRecordsSearch,
} from './search.ts';
import { withTimes } from './times.ts';

const start = '2001-03-05T14:07:00.000Z';
const place = 'TX/DFW/2001-03-01T00:05:00.000000Z/e';
const tail = { order: 'desc', start, live: 'true' };
const newest = { tenant: 'TX', order: 'newest', start };

describe('what a hash says', () => {
  it.each([
    [
      'what it cannot mean is dropped',
      { tenant: 5, store: 'DFW', month: '2001-13', from: '2001-03-04', to: 'soon' },
      { tenant: '5', store: 'DFW', from: '2001-03-04' },
    ],
    [
      'numbers are read, and the rest of a page is not',
      { tenant: 'TX', limit: '200', at: -1, cursor: '', other: 1, year: '20010', view: 'x' },
      { tenant: 'TX', limit: 200 },
    ],
    ['no store without a tenant', { store: 'DFW', month: '2001-03' }, {}],
    ['no month without a store', { tenant: 'TX', month: '2001-03' }, { tenant: 'TX' }],
    [
      'defaults are left out',
      { tenant: 'TX', limit: 100, at: 0, view: 'records' },
      { tenant: 'TX' },
    ],
    [
      'a node has views',
      { tenant: 'TX', view: 'days', year: '2001', panel: 'version/ver_1' },
      { tenant: 'TX', view: 'days', year: 2001, panel: 'version/ver_1' },
    ],
    ['there is no view without a node', { view: 'days', panel: 'export' }, {}],
    ['a tenant may go by time over its stores', newest, newest],
    ['an event is not searched by time', { ...newest, event: 'e' }, { tenant: 'TX', event: 'e' }],
    [
      'a store alone begins at a time',
      { ...newest, store: 'S' },
      { tenant: 'TX', store: 'S', start },
    ],
    ['no node goes by no time', { ...newest, tenant: undefined }, {}],
    [
      'a store alone has an order',
      { ...tail, tenant: 'TX', store: 'S' },
      { ...tail, tenant: 'TX', store: 'S', live: true },
    ],
    ['any node has LIVE', { ...tail, tenant: 'TX' }, { tenant: 'TX', live: true }],
    [
      'any node has a last page',
      { ...tail, tenant: 'TX', start: 'last', live: 1 },
      { tenant: 'TX', start: 'last' },
    ],
    [
      'LIVE goes with a where',
      { ...tail, tenant: 'TX', where: 'exists(a)' },
      { tenant: 'TX', where: 'exists(a)', live: true },
    ],
    [
      'LIVE goes with no dataset',
      { ...tail, tenant: 'TX', dataset: 'training' },
      { tenant: 'TX', dataset: 'training' },
    ],
    ['without a node nothing is LIVE', tail, {}],
    ['a dataset is one of a tenant', { dataset: 'training' }, {}],
    ['a dataset is one of two', { tenant: 'TX', dataset: 'x' }, { tenant: 'TX' }],
    ['links of earlier releases name a record', { record: place }, { panel: `record/${place}` }],
    [
      'links of earlier releases name a version',
      { tenant: 'TX', version: 'ver_1' },
      { tenant: 'TX', panel: 'version/ver_1' },
    ],
  ])('%s', (_, raw, search) => {
    expect(validateRecordsSearch(raw)).toEqual(search);
  });
});

describe('changes', () => {
  const search = validateRecordsSearch({
    tenant: 'TX',
    store: 'DFW',
    month: '2001-03',
    open: 'TX',
    kind: 'departure',
    where: 'n = 1',
    from: '2001-03-04',
    cursor: 'c',
    at: 100,
    panel: 'record/TX/DFW/t/e',
  });

  it('another node drops days, page and drawer, and keeps view and filters', () => {
    const days = { ...search, view: 'days', dataset: 'training' } as const;
    expect(chooseNode(days, { tenant: 'CA' })).toEqual({
      tenant: 'CA',
      open: 'TX',
      kind: 'departure',
      where: 'n = 1',
      view: 'days',
      dataset: 'training',
    });
    expect(chosenNode(chooseNode(search, null))).toBeNull();
    expect(chooseNode({ tenant: 'TX', sort: 'bytes' }, null)).toEqual({ sort: 'bytes' });
    expect(validateRecordsSearch({ sort: 'name' })).toEqual({});
    expect(chooseNode({ tenant: 'TX', view: 'days', panel: 'tag' }, null)).toEqual({});
  });

  it('another node keeps a panel that is about the node, or about its tenant', () => {
    const panelAt = ([panel, tenant]: readonly [string, string]) =>
      chooseNode({ ...search, panel }, { tenant, store: 'AUS' }).panel;
    const kept = [
      ...[
        ['tag', 'CA'],
        ['freeze', 'CA'],
        ['export', 'CA'],
      ],
      ...[
        ['export/ver_1', 'TX'],
        ['version/ver_1', 'TX'],
      ],
    ] as const;
    expect(kept.map(panelAt)).toEqual(kept.map(([panel]) => panel));
    expect(panelAt(['export/ver_1', 'CA'])).toBe('export');
    expect(panelAt(['version/ver_1', 'CA'])).toBeUndefined();
    expect(panelAt(['record/TX/DFW/t/e', 'TX'])).toBeUndefined();
  });

  it('other filters drop the cursor and close a record, and nothing else', () => {
    const kept = { ...search, cursor: undefined, at: undefined, panel: undefined };
    expect(changeFilters(search, { kind: 'arrival' })).toEqual({ ...kept, kind: 'arrival' });
    expect(changeFilters({ ...search, panel: 'tag' }, { kind: undefined })).toEqual({
      ...kept,
      kind: undefined,
      panel: 'tag',
    });
  });
});

it('hours go with their days, and stay when other filters change', () => {
  const times = { from: '2026-11-25T10:00:00Z', to: '2026-11-25T12:00:00Z' };
  const where = withTimes('n = 1', times);
  const [day, next] = ['2026-11-25', '2026-11-26'];
  const search = { tenant: 'TX', from: day, to: day, where } as RecordsSearch;
  const ofNext = { tenant: 'TX', from: next, to: next };
  expect(changeFilters(search, { from: next, to: next })).toEqual({ ...ofNext, where: 'n = 1' });
  expect(changeFilters(search, { from: undefined, to: undefined })).toEqual({
    tenant: 'TX',
    where: 'n = 1',
  });
  expect(changeFilters(search, { kind: 'arrival' })).toEqual({ ...search, kind: 'arrival' });
  expect(changeFilters({ tenant: 'TX' }, { from: day, to: day, where })).toEqual(search);
  expect(chooseNode(search, { tenant: 'CA' })).toEqual({ tenant: 'CA', where: 'n = 1' });
});

describe('sliceOf', () => {
  it('is the month, or days inside it', () => {
    const leaf = { tenant: 'TX', store: 'DFW', month: '2004-02' };
    expect(sliceOf(leaf)).toEqual(leaf);
    expect(sliceOf({ ...leaf, from: '2004-02-10' })).toEqual({
      tenant: 'TX',
      store: 'DFW',
      from: '2004-02-10',
      to: '2004-02-29',
    });
    expect(sliceOf({ ...leaf, from: '2003-01-01', to: '2005-01-01' })).toMatchObject({
      from: '2004-02-01',
      to: '2004-02-29',
    });
  });

  it('is open at one end where a range is', () => {
    expect(sliceOf({ tenant: 'TX', to: '2001-01-05' })).toEqual({
      tenant: 'TX',
      from: '1970-01-01',
      to: '2001-01-05',
    });
    expect(sliceOf({ tenant: 'TX', from: '2001-01-05' })?.to).toBe('2999-12-31');
    expect(sliceOf({})).toBeNull();
  });
});

describe('open nodes', () => {
  it('go into a few characters and come back', () => {
    const open = new Set(['TX', 'TX/DFW', 'TX/IAH', 'CA', 'a b,c']);
    expect(encodeOpen(open)).toBe('TX/DFW/IAH//CA//a b,c');
    expect(decodeOpen(encodeOpen(open))).toEqual(open);
  });

  it('forgets what is open inside a closed node, and nothing is undefined', () => {
    expect(encodeOpen(new Set(['TX/DFW']))).toBeUndefined();
    expect(decodeOpen(undefined)).toEqual(new Set());
  });
});

describe('record keys', () => {
  it('come back, whatever the event id holds', () => {
    const identity = {
      tenant: 'TX',
      store: 'DFW',
      occurred_at: '2001-03-01T00:05:00.000000Z',
      event_id: 'a/b//c',
    };
    expect(decodeRecord(encodeRecord(identity))).toEqual(identity);
    expect(decodeRecord('TX/DFW')).toBeNull();
    expect(decodeRecord(undefined)).toBeNull();
  });
});

describe('chosenDays', () => {
  const facts = { first_at: '2000-11-07T00:00:00.000000Z', last_at: '2001-04-19T18:50:00.000000Z' };
  const leaf = { tenant: 'TX', store: 'DFW', month: '2001-02' };

  it('is no range while no day is chosen', () => {
    expect(chosenDays(leaf, facts)).toBeNull();
  });

  it('is what is chosen', () => {
    expect(chosenDays({ ...leaf, from: '2001-02-03', to: '2001-02-05' }, null)).toEqual({
      from: '2001-02-03',
      to: '2001-02-05',
    });
  });

  it('ends, where it is open, with the month or with the records of the node', () => {
    expect(chosenDays({ ...leaf, from: '2001-02-03' }, facts)?.to).toBe('2001-02-28');
    expect(chosenDays({ ...leaf, to: '2001-02-03' }, facts)?.from).toBe('2001-02-01');
    expect(chosenDays({ tenant: 'TX', from: '2001-02-03' }, facts)?.to).toBe('2001-04-19');
    expect(chosenDays({ tenant: 'TX', to: '2001-02-03' }, facts)?.from).toBe('2000-11-07');
  });

  it('never ends before it begins', () => {
    expect(chosenDays({ tenant: 'TX', from: '2005-01-01' }, facts)).toEqual({
      from: '2005-01-01',
      to: '2005-01-01',
    });
    expect(chosenDays({ tenant: 'TX', from: '2005-01-01' }, null)?.to).toBe('2005-01-01');
  });
});
