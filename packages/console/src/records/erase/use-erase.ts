import { type UseQueryResult, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import type { EraseReceipt, EraseRequest, RetentionPolicy } from '../../api/types.ts';
import { panelHref } from '../../ui/panel-place.ts';
import { exportsKey, noPlaceholder, useRead } from '../../ui/poll.tsx';
import { notify } from '../../ui/toasts.tsx';
import { countOf } from '../../ui/words.ts';

/** What an erasure would take, as the service finds it now; nothing is asked without a request. */
export function useErasePreview(request: EraseRequest | null): UseQueryResult<EraseReceipt> {
  return useQuery<EraseReceipt>({
    queryKey: ['records', 'erase-preview', JSON.stringify(request)],
    enabled: request !== null,
    placeholderData: noPlaceholder,
    // It is what a person is about to confirm: an older answer would not do.
    staleTime: 0,
    gcTime: 0,
    refetchOnWindowFocus: false,
    queryFn: ({ signal }) => api.post<EraseReceipt>('/enrichment/erase/plan', request, { signal }),
  });
}

/** The policy of a tenant: a legal hold keeps all of it from being erased. */
export function usePolicyOf(tenant: string): UseQueryResult<RetentionPolicy> {
  const path = `/retention/policies/${encodeURIComponent(tenant)}`;
  const once = { isOne: true, everyMillis: null, staleMillis: 0 };
  return useRead(['records', 'policy', tenant], path, once);
}

/** Erases. All that shows records is read again afterwards, and a message says what went, also on another page. */
export function useErase() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (request: EraseRequest) => api.post<EraseReceipt>('/enrichment/erase', request),
    onSuccess: ({ id, tenant, erased }) => {
      const text = `Erased ${countOf(erased.count, 'record')} of ${tenant}`;
      notify(id === null ? { text } : { text, href: moveHref(id), linkText: 'its journal' });
    },
    onSettled: () => {
      void client.invalidateQueries({ queryKey: exportsKey });
      void client.invalidateQueries({
        queryKey: ['records'],
        // What would go next is asked for when a person wants to know.
        predicate: ({ queryKey }) => queryKey[1] !== 'erase-preview',
      });
    },
  });
}

/** A link to an erasure in the journal of moves. */
export function moveHref(id: string): string {
  return panelHref('/retention', { kind: 'move', id }, { view: 'journal' });
}
