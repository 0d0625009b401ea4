const tenant = (i) => `tenant-${String(i).padStart(3, '0')}`;
const store = (i) => `store-${String(i).padStart(4, '0')}`;
const month = (i) => `2025-${String((i % 12) + 1).padStart(2, '0')}`;

/**
 * What is asked of the tree: each case gives the i-th request, other names each time. `deep` are places
 * far into the list of all leaves; a case with `isLimited` asks with a token for a tenth of the tenants.
 */
export function datasetCases({ tenants, stores }, deep) {
  const t = (i) => tenant((i * 7) % tenants);
  const s = (i) => store((i * 13) % stores);
  /** Tenants whose days are there. */
  const withDays = (i) => ({ tenant: tenant((i * 10) % tenants) });
  return [
    level('tenant'),
    level('tenant', () => ({ q: 'tenant-01' })),
    level('tenant', (i) => ({ month: month(i) })),
    level('tenant', (i) => ({ store: s(i) })),
    level('tenant', (i) => ({ store: s(i), month: month(i) })),
    level('store'),
    level('store', (i) => ({ tenant: t(i) })),
    level('store', (i) => ({ tenant: t(i), q: 'store-00' })),
    level('store', () => ({ q: 'store-004' })),
    level('store', () => ({ q: 'none' })),
    level('store', (i) => ({ month: month(i) })),
    level('store', (i) => ({ month: month(i), q: 'store-0007' })),
    level('store', (i) => ({ store: s(i) })),
    level('store', () => ({ q: 'store-004' }), { isLimited: true }),
    level('month'),
    level('month', (i) => ({ tenant: t(i) })),
    level('month', (i) => ({ tenant: t(i), store: s(i) })),
    level('month', (i) => ({ tenant: t(i), month: month(i) })),
    level('month', (i) => ({ month: month(i) })),
    level('month', (i) => ({ month: month(i) }), { isLimited: true }),
    level('month', (i) => ({ store: s(i) })),
    level('month', () => ({ q: '2025-1' })),
    level('month', () => ({ q: '2024' })),
    level('month', withDays, { hasDays: true }),
    level('month', withDays, { hasDays: true, limit: 500 }),
    level('month', () => ({}), { limit: 500 }),
    level('month', () => ({}), { place: (i) => deep[i % deep.length] }),
  ];
}

/**
 * @param {string} name
 * @param {(i: number) => Record<string, string>} filters
 * @param {{ isLimited?: boolean, hasDays?: boolean, limit?: number, place?: (i: number) => unknown }} options
 */
function level(name, filters = () => ({}), options = {}) {
  const { isLimited = false, hasDays = false, limit = 100, place = () => undefined } = options;
  const words = [`level=${name}`];
  for (const [filter, value] of Object.entries(filters(0))) {
    words.push(filter === 'q' ? `q=${value}` : filter);
  }
  if (hasDays) words.push('include=days');
  if (limit !== 100) words.push(`limit=${limit}`);
  if (options.place !== undefined) words.push('cursor=(far in)');
  return {
    name: words.join(' & ') + (isLimited ? ' (token of some tenants)' : ''),
    isLimited,
    request: (i) => ({ level: name, filters: filters(i), limit, hasDays, place: place(i) }),
  };
}

/** The tenants of the limited token. */
export function limitedTenants({ tenants }) {
  return Array.from({ length: Math.ceil(tenants / 10) }, (_, i) => tenant(i * 10 + 3)).filter(
    (name) => name < tenant(tenants),
  );
}
