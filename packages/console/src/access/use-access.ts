import type { UseQueryResult } from '@tanstack/react-query';
import { api } from '../api/client.ts';
import type {
  AccessToken,
  AuditEntry,
  NotifyTarget,
  NotifyTestResult,
  Page,
} from '../api/types.ts';
import { useAct } from '../ui/act.ts';
import { neverStale, useRead } from '../ui/poll.tsx';
import { notify } from '../ui/toasts.tsx';
import { addressOf, entryKeyOf } from './words.ts';

/** The query key of everything about access. */
export const accessKey = ['access'] as const;
/** The query key of everything about notices. */
export const noticesKey = [...accessKey, 'notices'] as const;

/** Reads all tokens that are not revoked. */
export function useTokens(): UseQueryResult<Page<AccessToken>> {
  return useRead([...accessKey, 'tokens'], '/tokens');
}

/** Tells how a test of somewhere went. */
export function tellTest({ delivered, error, duration_ms }: NotifyTestResult, address: string) {
  notify({
    text: delivered
      ? `The test reached ${address} in ${duration_ms} ms`
      : `The test did not reach ${address}. ${error ?? ''}`,
  });
}

/** Sends a test to a target of notices, and tells how it went. */
export function useTargetTest() {
  return useAct({
    call: ({ id }: NotifyTarget) =>
      api.post<NotifyTestResult>(`/notify/targets/${encodeURIComponent(id)}/test`, undefined),
    onDone: (result, target) => tellTest(result, addressOf(target)),
    failed: 'Not tested',
    changes: noticesKey,
  });
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
