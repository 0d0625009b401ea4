import type { RowGroups } from './footer.ts';

/** The layout of a body, as it was kept. */
export function parseLayout(layout: unknown): RowGroups {
  if (!isLayout(layout)) throw new Error('a part of a Parquet file has lost its layout');
  return layout;
}

function isLayout(layout: unknown): layout is RowGroups {
  if (typeof layout !== 'object' || layout === null) return false;
  const { rows, groups } = layout as Partial<Record<keyof RowGroups, unknown>>;
  const isList = Array.isArray(groups) && groups.every((group) => typeof group === 'string');
  return Number.isSafeInteger(rows) && isList;
}
