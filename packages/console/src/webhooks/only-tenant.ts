import { useMemo } from 'react';
import type { Scope } from '../api/values.ts';
import type { Filters } from '../api/views.ts';
import { useSession } from '../ui/session.ts';

/** The tenant of somebody who reaches one alone: then nothing needs to say which one is meant. */
export function useOnlyTenant(): string | undefined {
  const { tenants } = useSession().actor;
  return tenants?.length === 1 ? tenants[0] : undefined;
}

/** The columns of a list without that of the tenant, where there is only one, and without buttons for those who may not. */
export function useOwnColumns<Column extends { readonly id: string; readonly isAction?: boolean }>(
  columns: readonly Column[],
  scopeToAct: Scope = 'deliveries:retry',
): readonly Column[] {
  const isOnly = useOnlyTenant() !== undefined;
  const mayAct = useSession().hasScope(scopeToAct);
  return useMemo(
    () =>
      columns.filter(({ id, isAction }) => !(isOnly && id === 'tenant') && (mayAct || !isAction)),
    [columns, isOnly, mayAct],
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
