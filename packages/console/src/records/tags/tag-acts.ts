import { type QueryClient, type UseQueryResult, useQueryClient } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import type { DayRow, NewTag, Page, Tag, Tagged } from '../../api/types.ts';
import { useAct } from '../../ui/act.ts';
import { reasonOf } from '../../ui/outage.ts';
import { useRead } from '../../ui/poll.tsx';
import { notify } from '../../ui/toasts.tsx';
import { countOf, datasetWords } from '../../ui/words.ts';
import { maxDays } from '../calendar/calendar-layout.ts';
import type { SliceParams } from '../search.ts';
import { treeKey } from '../tree/branch-pages.ts';

/** Reads what a tag would cover. */
export function useTagPreview(tag: NewTag): UseQueryResult<Tagged> {
  const asked = { ...tag, note: undefined, dry_run: true };
  const read = (signal: AbortSignal) => api.post<Tagged>('/enrichment/tags', asked, { signal });
  return useRead(['records', 'tag-preview', JSON.stringify(asked)], read, { isFresh: true });
}

/** Reads the days of a slice, with what is tagged of them; undefined also where they are too many for one answer. */
export function useTaggedDays(slice: SliceParams): readonly DayRow[] | undefined {
  const { data } = useRead<Page<DayRow>>(['records', 'days', 'tag', slice], '/enrichment/days', {
    params: { ...slice, limit: maxDays },
    isFresh: true,
  });
  return data?.next_cursor === null ? data.data : undefined;
}

/** Makes a tag, and shows a message that offers to undo it. */
export function useCreateTag(onDone: () => void) {
  const client = useQueryClient();
  return useAct({
    call: (tag: NewTag) => api.post<Tagged>('/enrichment/tags', tag),
    onDone: ({ id, tenant, count, dataset }) => {
      notify({
        text: `Tagged ${countOf(count, 'record')} as ${datasetWords[dataset]}.`,
        ...(id !== null && { action: { text: 'UNDO', run: () => void undo(client, id, tenant) } }),
      });
      onDone();
    },
    changes: (_client, { tenant }) => refreshCoverage(client, tenant),
  });
}

/** Removes a tag, and shows a message when it is gone. */
export function useDeleteTag({ id, tenant, count, dataset }: Tag) {
  return useAct({
    call: () => api.delete(tagPath(id)),
    onDone: () =>
      notify({ text: `Untagged ${countOf(count, 'record')} as ${datasetWords[dataset]}.` }),
    failed: 'Not untagged',
    changes: (client) => refreshCoverage(client, tenant),
  });
}

/** Removes a tag that was just made. */
async function undo(client: QueryClient, id: string, tenant: string): Promise<void> {
  try {
    await api.delete(tagPath(id));
    notify({ text: 'The tag is gone again.' });
  } catch (error) {
    notify({ text: `Not undone. ${error instanceof Error ? reasonOf(error) : ''}` });
  }
  refreshCoverage(client, tenant);
}

function tagPath(id: string): string {
  return `/enrichment/tags/${encodeURIComponent(id)}`;
}

/** Reads again what a tag of this tenant changes: of the tree only the root, and what is open below the tenant. */
function refreshCoverage(client: QueryClient, tenant: string): void {
  void client.invalidateQueries({
    queryKey: treeKey,
    predicate: ({ queryKey }) => {
      const branch = queryKey[treeKey.length];
      if (typeof branch !== 'string') return false;
      return branch === '' || branch === tenant || branch.startsWith(`${tenant}/`);
    },
  });
  for (const part of ['facts', 'days', 'tags']) {
    void client.invalidateQueries({ queryKey: ['records', part] });
  }
}
