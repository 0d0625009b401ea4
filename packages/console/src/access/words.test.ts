import { describe, expect, it } from 'vitest';
import {
  asTree,
  browserText,
  changesOf,
  isStale,
  leavesNoManager,
  presetOf,
  revokedWith,
  scopesText,
  troubledFirst,
} from './words.ts';

const plain = {
  scopes: ['admin' as const],
  tenants: null,
  stores: null,
  addresses: null,
  overlap_until: null,
  is_suspended: false,
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
    expect(scopesText(['analytics:read', 'enrichment:read'])).toBe(
      'support-readonly: analytics:read, enrichment:read',
    );
    expect(scopesText(['enrichment:read'])).toBe('enrichment:read');
    expect(scopesText(['admin'])).toBe('admin: everything');
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

  it('are stale once nobody has used or made them for 90 days, while they hold', () => {
    const now = Date.parse('2026-04-02T00:00:00Z');
    const used = '2026-04-01T00:00:00.000000Z';
    expect(isStale(token('old', null), now)).toBe(true);
    expect(isStale(token('used', null, { last_used_at: used }), now)).toBe(false);
    expect(isStale(token('new', null, { created_at: used }), now)).toBe(false);
    expect(isStale(token('over', null, { expires_at: used }), now)).toBe(false);
  });

  it('lock out whoever would manage them when the last goes that reaches all and has not expired', () => {
    const now = Date.parse('2026-03-05T00:00:00Z');
    const free = token('free', null);
    const manager = token('manager', null, { scopes: ['tokens:manage'] });
    const others = [
      token('bound', null, { tenants: ['TX'] }),
      token('old', null, { expires_at: '2026-03-04T00:00:00.000000Z' }),
      token('reader', null, { scopes: ['audit:read'] }),
      token('gone', null, { is_suspended: true }),
    ];
    expect(leavesNoManager([free], [free, ...others], now)).toBe(true);
    expect(leavesNoManager([free], [free, manager, ...others], now)).toBe(false);
    expect(leavesNoManager([free, manager], [free, manager, ...others], now)).toBe(true);
    expect(leavesNoManager(others, [free, ...others], now)).toBe(false);
    expect(leavesNoManager(others, others, now)).toBe(false);
  });
});

it('puts the targets first that are to be told and are not reached, and leaves the others in their order', () => {
  const send = { at: '', attempts: 8, error: null, is_test: false };
  const all = [
    { id: 'new', enabled: true, last_send: null },
    { id: 'off', enabled: false, last_send: { ...send, state: 'given_up' as const } },
    { id: 'told', enabled: true, last_send: { ...send, state: 'delivered' as const } },
    { id: 'lost', enabled: true, last_send: { ...send, state: 'given_up' as const } },
  ];
  expect(troubledFirst(all).map(({ id }) => id)).toEqual(['lost', 'new', 'off', 'told']);
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
