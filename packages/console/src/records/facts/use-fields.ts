import type { UseQueryResult } from '@tanstack/react-query';
import type { RecordFields } from '../../api/types.ts';
import type { DatasetName } from '../../api/values.ts';
import { useRead } from '../../ui/poll.tsx';
import type { SliceParams } from '../search.ts';

/** Which fields are read: of which records, and with which others they are compared. */
type FieldsAsked = {
  slice: SliceParams | null;
  dataset: DatasetName | undefined;
  where?: string | undefined;
  against: string | undefined;
};

/** Reads the fields of a slice, at most once a minute, since that may take seconds. */
export function useFields(
  { slice, dataset, where, against }: FieldsAsked,
  digest: string | undefined,
  isShown: boolean,
): UseQueryResult<RecordFields> {
  const params = { ...slice, dataset, where, against };
  return useRead(['records', 'fields', JSON.stringify(params), digest], '/enrichment/fields', {
    params,
    isWanted: slice !== null && digest !== undefined && isShown,
    isOne: true,
    everyMillis: null,
    staleMillis: 60_000,
  });
}
