import { describe, expect, it } from 'vitest';
import { asTree, browserText, changesOf, presetOf, revokedWith } from './words.ts';

const plain = {
  scopes: ['admin' as const],
  tenants: null,
  addresses: null,
  overlap_until: null,
  created_at: '2026-01-01T00:00:00.000000Z',
  expires_at: null,
  last_used_at: null,
};
const token = (id: string, maker: string | null, more: object = {}) => ({
  ...plain,
  id,
  name: id,
  creator: maker === null ? null : { id: maker, name: maker },
  ...more,
});

describe('tokens', () => {
  it('are called by the preset that has exactly their scopes', () => {
    expect(presetOf(['analytics:read', 'enrichment:read'])).toBe('support-readonly');
    expect(presetOf(['enrichment:read'])).toBeUndefined();
  });

  it('stand below those that made them, also when the maker is gone', () => {
    const all = [token('c', 'b'), token('b', 'a'), token('a', null), token('x', 'gone')];
    expect(asTree(all).map(({ token: { id }, depth }) => [id, depth])).toEqual([
      ['a', 0],
      ['b', 1],
      ['c', 2],
      ['x', 0],
    ]);
  });

  it('take those with them that they made, but for a maker that is neither limited nor expires', () => {
    const free = token('free', null);
    const bound = token('bound', 'free', { tenants: ['TX'] });
    const child = token('child', 'bound', { tenants: ['TX'] });
    const all = [free, bound, child];
    expect(revokedWith(bound, all)).toEqual([child]);
    expect(revokedWith(free, all)).toEqual([]);
    const lesser = token('lesser', 'free', { scopes: ['tokens:manage'] });
    const made = token('made', 'lesser', { scopes: ['audit:read'] });
    expect(revokedWith(lesser, [...all, lesser, made])).toEqual([made]);
  });
});

describe('the changes of an entry', () => {
  it('are the members that differ, or all when something is made or removed', () => {
    const after = { hot_days: 30, hold: false };
    expect(changesOf({ hot_days: 3, hold: false }, after)).toEqual([
      { name: 'hot_days', before: 3, after: 30 },
    ]);
    expect(changesOf(null, after)).toHaveLength(2);
    expect(changesOf(null, null)).toEqual([]);
  });

  it('leave out what has no value, and tell what is within by its own name', () => {
    const before = { note: null, labels: {}, breaker: { state: 'open', until: null }, stores: [] };
    const after = { note: 'x', labels: {}, breaker: { state: 'closed', until: null } };
    expect(changesOf(before, after)).toEqual([
      { name: 'breaker.state', before: 'open', after: 'closed' },
      { name: 'note', before: undefined, after: 'x' },
    ]);
    expect(changesOf(null, before)).toEqual([
      { name: 'breaker.state', before: undefined, after: 'open' },
    ]);
  });
});

describe('a browser', () => {
  const agent = (rest: string) => `Mozilla/5.0 (${rest}`;
  it.each([
    [agent('Windows NT 10.0) Chrome/130.0 Safari/537.36 Edg/130.0'), 'Edge · Windows'],
    [agent('Macintosh; Intel Mac OS X 14_5) Version/17.5 Safari/605.1'), 'Safari · macOS'],
    [agent('Linux; Android 14) Chrome/130.0 Mobile Safari/537.36'), 'Chrome · Android'],
    [agent('X11; Linux x86_64; rv:131.0) Gecko Firefox/131.0'), 'Firefox · Linux'],
    ['curl/8.0', 'curl/8.0'],
    [null, '–'],
  ])('is told by its names: %s', (userAgent, text) => {
    expect(browserText(userAgent)).toBe(text);
  });
});
