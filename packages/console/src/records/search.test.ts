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
  sliceOf,
  validateRecordsSearch,
} from './search.ts';

describe('validateRecordsSearch', () => {
  it('keeps what it understands and drops the rest', () => {
    expect(
      validateRecordsSearch({
        tenant: 5,
        store: 'DFW',
        month: '2001-13',
        from: '2001-03-04',
        to: 'soon',
        limit: '200',
        at: -1,
        cursor: '',
        other: 1,
      }),
    ).toEqual({ tenant: '5', store: 'DFW', from: '2001-03-04', limit: 200 });
  });

  it('has no store without a tenant and no month without a store', () => {
    expect(validateRecordsSearch({ store: 'DFW', month: '2001-03' })).toEqual({});
    expect(validateRecordsSearch({ tenant: 'TX', month: '2001-03' })).toEqual({ tenant: 'TX' });
  });

  it('leaves defaults out', () => {
    expect(validateRecordsSearch({ limit: 100, at: 0 })).toEqual({});
    expect(validateRecordsSearch({ tenant: 'TX', view: 'records' })).toEqual({ tenant: 'TX' });
  });

  it('knows the views of a node, and none without one', () => {
    const search = { view: 'days', year: '2001', panel: 'version/ver_1' };
    expect(validateRecordsSearch({ tenant: 'TX', ...search })).toEqual({
      tenant: 'TX',
      view: 'days',
      year: 2001,
      panel: 'version/ver_1',
    });
    expect(validateRecordsSearch({ view: 'days', panel: 'export' })).toEqual({});
    expect(validateRecordsSearch({ tenant: 'TX', view: 'x', year: '20010' })).toEqual({
      tenant: 'TX',
    });
  });

  it('goes by time over the stores of a tenant, unless it searches an event, and then from a time, too', () => {
    const at = { tenant: 'TX', order: 'newest', start: '2001-03-05T14:07:00.000Z' } as const;
    expect(validateRecordsSearch(at)).toEqual(at);
    expect(validateRecordsSearch({ ...at, event: 'e' })).toEqual({ tenant: 'TX', event: 'e' });
    expect(validateRecordsSearch({ ...at, store: 'DFW' })).toEqual({
      ...{ tenant: 'TX', store: 'DFW', start: at.start },
    });
    expect(validateRecordsSearch({ ...at, tenant: undefined })).toEqual({});
  });

  it('has the order of a store and a time to begin at in a store alone, and the last page and LIVE in any node', () => {
    const at = { order: 'desc', start: '2001-03-05T14:07:00.000Z', live: 'true' };
    const of = (place: object) => validateRecordsSearch({ ...at, ...place });
    expect(of({ tenant: 'TX', store: 'DFW' })).toMatchObject({ ...at, live: true });
    expect(of({ tenant: 'TX' })).toEqual({ tenant: 'TX', live: true });
    expect(of({ tenant: 'TX', start: 'last', live: 1 })).toEqual({ tenant: 'TX', start: 'last' });
    const where = { tenant: 'TX', where: 'exists(a)' };
    expect(of(where)).toEqual({ ...where, live: true });
    const tagged = { tenant: 'TX', dataset: 'training' } as const;
    expect(of(tagged)).toEqual(tagged);
    expect(of({})).toEqual({});
  });

  it('reads a record and a version in links of earlier releases', () => {
    const record = 'TX/DFW/2001-03-01T00:05:00.000000Z/e';
    expect(validateRecordsSearch({ record })).toEqual({ panel: `record/${record}` });
    expect(validateRecordsSearch({ tenant: 'TX', version: 'ver_1' }).panel).toBe('version/ver_1');
  });

  it('goes on with the view at another node', () => {
    const search = { tenant: 'TX', view: 'days', panel: 'version/ver_1' } as const;
    expect(chooseNode(search, { tenant: 'CA' })).toEqual({ tenant: 'CA', view: 'days' });
    expect(chooseNode(search, null)).toEqual({});
  });

  it('filters by a dataset of a tenant only', () => {
    const search = validateRecordsSearch({ tenant: 'TX', dataset: 'training' });
    expect(search).toEqual({ tenant: 'TX', dataset: 'training' });
    expect(chooseNode(search, { tenant: 'CA' })).toEqual({ tenant: 'CA', dataset: 'training' });
    expect(validateRecordsSearch({ dataset: 'training' })).toEqual({});
    expect(validateRecordsSearch({ tenant: 'TX', dataset: 'x' })).toEqual({ tenant: 'TX' });
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

  it('another node drops days, page and drawer, and keeps kind', () => {
    expect(chooseNode(search, { tenant: 'CA' })).toEqual({
      tenant: 'CA',
      open: 'TX',
      kind: 'departure',
      where: 'n = 1',
    });
    expect(chosenNode(chooseNode(search, null))).toBeNull();
  });

  it('another node keeps a panel that is about the node, or about its tenant', () => {
    const panelAt = (panel: string, tenant: string) =>
      chooseNode({ ...search, panel }, { tenant, store: 'AUS' }).panel;
    expect(panelAt('tag', 'CA')).toBe('tag');
    expect(panelAt('freeze', 'CA')).toBe('freeze');
    expect(panelAt('export', 'CA')).toBe('export');
    expect(panelAt('export/ver_1', 'TX')).toBe('export/ver_1');
    expect(panelAt('export/ver_1', 'CA')).toBe('export');
    expect(panelAt('version/ver_1', 'TX')).toBe('version/ver_1');
    expect(panelAt('version/ver_1', 'CA')).toBeUndefined();
    expect(panelAt('record/TX/DFW/t/e', 'TX')).toBeUndefined();
    expect(chooseNode({ ...search, panel: 'tag' }, null).panel).toBeUndefined();
  });

  it('other filters close a record, and nothing else', () => {
    expect(changeFilters(search, { kind: 'arrival' })).not.toHaveProperty('panel');
    expect(changeFilters({ ...search, panel: 'tag' }, { kind: 'arrival' }).panel).toBe('tag');
  });

  it('other filters drop the cursor', () => {
    const changed = changeFilters(search, { kind: undefined });
    expect(changed).not.toHaveProperty('kind');
    expect(changed).not.toHaveProperty('cursor');
    expect(changed).not.toHaveProperty('at');
    expect(changed.from).toBe('2001-03-04');
  });
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
