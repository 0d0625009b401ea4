import type { UseQueryResult } from '@tanstack/react-query';
import { api } from '../api/client.ts';
import type {
  AccessToken,
  Approval,
  AuditEntry,
  Notice,
  NotifyTarget,
  Page,
  PortalLink,
  Session,
} from '../api/types.ts';
import { auditFilters } from '../api/views.ts';
import { listParams } from '../ui/list-search.ts';
import { neverStale, useRead } from '../ui/poll.tsx';
import type { AccessSearch } from './search.ts';
import { entryKeyOf } from './words.ts';

/** The query key of everything about access. */
export const accessKey = ['access'] as const;
/** The query key of everything about notices. */
export const noticesKey = [...accessKey, 'notices'] as const;

const pageSize = 100;

/** Reads all tokens that are not revoked. */
export function useTokens(): UseQueryResult<Page<AccessToken>> {
  return useRead([...accessKey, 'tokens'], '/tokens');
}

/** Reads all sessions of consoles. */
export function useSessions(): UseQueryResult<Page<Session>> {
  return useRead([...accessKey, 'sessions'], '/sessions');
}

/** Reads what somebody else must confirm. */
export function useApprovals(): UseQueryResult<{ data: Approval[] }> {
  return useRead([...accessKey, 'approvals'], '/approvals');
}

/** Reads one of these, with the body of its call. */
export function useApproval(id: string): UseQueryResult<Approval & { body: unknown }> {
  return useRead([...accessKey, 'approvals', id], `/approvals/${encodeURIComponent(id)}`, {
    isOne: true,
  });
}

/** Reads the links into the portal. */
export function usePortalLinks(): UseQueryResult<{ data: PortalLink[] }> {
  return useRead([...accessKey, 'portal'], '/webhook/portal-links');
}

/** Reads who is told of what is wrong. */
export function useTargets(): UseQueryResult<{ data: NotifyTarget[] }> {
  return useRead([...noticesKey, 'targets'], '/notify/targets');
}

/** Reads what was told lately. */
export function useNotices(): UseQueryResult<Page<Notice>> {
  return useRead([...noticesKey, 'told'], '/notify/notices', { params: { limit: pageSize } });
}

/** Reads the page of the audit log that the hash names. */
export function useAudit(search: AccessSearch): UseQueryResult<Page<AuditEntry>> {
  const params = listParams(auditFilters, search);
  return useRead([...accessKey, 'audit', params], '/audit', { params });
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
