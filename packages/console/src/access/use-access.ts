import type { UseQueryResult } from '@tanstack/react-query';
import { api } from '../api/client.ts';
import type { AccessToken, AuditEntry, Page } from '../api/types.ts';
import { neverStale, useRead } from '../ui/poll.tsx';
import { entryKeyOf } from './words.ts';

/** The query key of everything about access. */
export const accessKey = ['access'] as const;
/** The query key of everything about notices. */
export const noticesKey = [...accessKey, 'notices'] as const;

/** Reads all tokens that are not revoked. */
export function useTokens(): UseQueryResult<Page<AccessToken>> {
  return useRead([...accessKey, 'tokens'], '/tokens');
}

/** As many entries as a page may have. */
const mostEntries = 500;

/** Reads one entry of the audit log by its key; null when there is none, or none that the reader may see. */
export function useEntry(key: string): UseQueryResult<AuditEntry | null> {
  const read = async (signal: AbortSignal) => {
    const isPlace = /^[1-9]\d{0,14}$/.test(key);
    const params = isPlace ? { after: Number(key) - 1, limit: 1 } : { limit: mostEntries };
    const { data } = await api.get<Page<AuditEntry>>('/audit', params, signal);
    return data.find((entry) => entryKeyOf(entry) === key) ?? null;
  };
  return useRead([...accessKey, 'entry', key], read, {
    everyMillis: null,
    staleMillis: neverStale,
  });
}
