import type { UseQueryResult } from '@tanstack/react-query';
import type { Page, Tag } from '../../api/types.ts';
import { calmPollMillis, useRead } from '../../ui/poll.tsx';
import type { SliceParams } from '../search.ts';

/** At most this many tags are read: half of what a tenant may have, and more than anyone reads. */
const mostTags = 500;

/** Reads the tags that touch a slice, latest first. */
export function useTags(slice: SliceParams | null, isShown: boolean): UseQueryResult<Page<Tag>> {
  return useRead(['records', 'tags', JSON.stringify(slice)], '/enrichment/tags', {
    params: { ...slice, limit: mostTags },
    isWanted: slice !== null && isShown,
    isOne: true,
    everyMillis: calmPollMillis,
  });
}
