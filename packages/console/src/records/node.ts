/** A place in the tree tenant → store → month. A store without a tenant, or a month without a store, does not exist. */
export type NodePath =
  | { tenant: string; store?: undefined; month?: undefined }
  | { tenant: string; store: string; month?: undefined }
  | { tenant: string; store: string; month: string };

export type NodeLevel = 'tenant' | 'store' | 'month';

/** Names hold no `/`, so that this is one-to-one: `TX`, `TX/DFW`, `TX/DFW/2001-03`. */
export function nodeKey(path: NodePath): string {
  return namesOf(path).join('/');
}

export function parseNodeKey(key: string): NodePath | undefined {
  const [tenant, store, month] = key.split('/');
  if (!tenant) return undefined;
  return pathOf(tenant, store, month);
}

export function pathOf(tenant: string, store?: string | null, month?: string | null): NodePath {
  if (!store) return { tenant };
  return month ? { tenant, store, month } : { tenant, store };
}

export function levelOf(path: NodePath): NodeLevel {
  if (path.month !== undefined) return 'month';
  return path.store === undefined ? 'tenant' : 'store';
}

export function parentOf(path: NodePath): NodePath | undefined {
  if (path.month !== undefined) return { tenant: path.tenant, store: path.store };
  return path.store === undefined ? undefined : { tenant: path.tenant };
}

export function namesOf(path: NodePath): string[] {
  const { tenant, store, month } = path;
  return [tenant, store, month].filter((name) => name !== undefined);
}
