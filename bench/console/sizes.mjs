/**
 * How much each kind of run measures. A store with its months open adds `months` visible nodes: opening
 * `openStores` of them is what makes 100,000.
 */
const million = { tenants: 20, stores: 500, months: 100 };

export const sizes = {
  /** Only shows that a section still runs. */
  smallest: {
    leaves: { tenants: 4, stores: 20, months: 12 },
    reloads: 1,
    reloadsOfMany: 1,
    toggles: 2,
    openStores: 22,
    scrollPx: 2000,
    idleMillis: 200,
    overviews: 5,
  },
  quick: {
    leaves: { tenants: 4, stores: 100, months: 100 },
    reloads: 3,
    reloadsOfMany: 2,
    toggles: 6,
    openStores: 130,
    scrollPx: 20_000,
    idleMillis: 3000,
    overviews: 100,
  },
  standard: {
    leaves: million,
    reloads: 15,
    reloadsOfMany: 7,
    toggles: 60,
    openStores: 1010,
    scrollPx: 80_000,
    idleMillis: 35_000,
    overviews: 400,
  },
  full: {
    leaves: million,
    reloads: 40,
    reloadsOfMany: 20,
    toggles: 200,
    openStores: 1010,
    scrollPx: 240_000,
    idleMillis: 65_000,
    overviews: 2000,
  },
};

/** Names as in generate-leaves.mjs. */
export const tenantName = (i) => `tenant-${String(i).padStart(3, '0')}`;
export const storeName = (i) => `store-${String(i).padStart(4, '0')}`;

/**
 * A link with so many open stores, and how many nodes it makes visible. The last tenant's first stores
 * stay closed.
 */
export function manyOpen({ leaves, openStores }) {
  const { tenants, stores, months } = leaves;
  const parts = [];
  for (let left = openStores, t = 0; left > 0; left -= stores, t += 1) {
    const from = stores - Math.min(left, stores);
    const names = Array.from({ length: stores - from }, (_, i) => storeName(from + i));
    parts.push([tenantName(t), ...names].join('/'));
  }
  return {
    place: `/#/records?open=${encodeURIComponent(parts.join('//'))}`,
    // One tenant more than the generated ones: that of the records.
    visible: 1 + tenants + parts.length * stores + openStores * months,
  };
}
