import { useMemo } from 'react';
import type { Filters } from '../api/views.ts';
import { useSession } from '../ui/session.ts';

/** The tenant of somebody who reaches one alone: then nothing needs to say which one is meant. */
export function useOnlyTenant(): string | undefined {
  const { tenants } = useSession().actor;
  return tenants?.length === 1 ? tenants[0] : undefined;
}

/** The columns of a list without that of the tenant, where there is only one. */
export function useOwnColumns<Column extends { readonly id: string }>(
  columns: readonly Column[],
): readonly Column[] {
  const tenant = useOnlyTenant();
  return useMemo(
    () => (tenant === undefined ? columns : columns.filter(({ id }) => id !== 'tenant')),
    [columns, tenant],
  );
}

/** The filters of a list without a field for the tenant, where there is only one. */
export function useOwnFilters(filters: Filters): Filters {
  const isOnly = useOnlyTenant() !== undefined;
  return useMemo(() => (isOnly ? withoutField(filters, 'tenant') : filters), [filters, isOnly]);
}

/** Filters of which one has no field. A link may still set it: then the list says so, and how to remove it. */
export function withoutField(filters: Filters, name: string): Filters {
  const { isUsual: _, ...filter } = filters[name] ?? {};
  return { ...filters, [name]: { ...filter, isLinked: true } };
}
