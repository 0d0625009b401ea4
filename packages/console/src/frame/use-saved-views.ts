import type { SavedView } from '../api/types.ts';
import { useRead } from '../ui/poll.tsx';

export const viewsKey = ['views'] as const;

/** The views of this person, and those that others share. */
export function useSavedViews() {
  return useRead<{ data: SavedView[] }>(viewsKey, '/views', { everyMillis: null });
}
