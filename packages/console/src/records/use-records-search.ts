import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback, useMemo } from 'react';
import { type RecordsSearch, validateRecordsSearch } from './search.ts';

export type UpdateSearch = (
  change: (search: RecordsSearch) => RecordsSearch,
  options?: { replace?: boolean },
) => void;

/** The view state in the hash, and how to change it. A new choice is a step that Back undoes. */
export function useRecordsSearch(): [RecordsSearch, UpdateSearch] {
  const raw: Record<string, unknown> = useSearch({ strict: false });
  const text = JSON.stringify(raw);
  const search = useMemo(
    () => validateRecordsSearch(JSON.parse(text) as Record<string, unknown>),
    [text],
  );
  const navigate = useNavigate();
  const update = useCallback<UpdateSearch>(
    (change, options) => {
      void navigate({
        to: '/records',
        search: (before: Record<string, unknown>) => change(validateRecordsSearch(before)),
        replace: options?.replace ?? false,
        resetScroll: false,
      });
    },
    [navigate],
  );
  return [search, update];
}
