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

/** The filters of a list without that of the tenant, where there is only one. */
export function useOwnFilters(filters: Filters): Filters {
  const isOnly = useOnlyTenant() !== undefined;
  return useMemo(() => {
    const others = Object.entries(filters).filter(([name]) => name !== 'tenant');
    return isOnly ? Object.fromEntries(others) : filters;
  }, [filters, isOnly]);
}
