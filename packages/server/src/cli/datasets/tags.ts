import { formatBytes, formatCount, formatRelative } from '../format.ts';
import type { RouteAnswer } from '../routes.ts';
import type { Column } from '../table.ts';

export type Tag = RouteAnswer<'GET /enrichment/tags'>['data'][number];
export type Tagged = RouteAnswer<'POST /enrichment/tags'>;

export const tagFields = [
  'id',
  'tenant',
  'store',
  'from',
  'to',
  'dataset',
  'note',
  'count',
  'bytes',
  'created_at',
  'created_by',
] as const satisfies readonly (keyof Tag)[];

/** 2001-01-01 … 2001-03-31, "all days", "from 2001-01-01 on" */
export function windowText({ from, to }: { from: string | null; to: string | null }): string {
  if (from === null) return to === null ? 'all days' : `up to ${to}`;
  if (to === null) return `from ${from} on`;
  return from === to ? from : `${from} … ${to}`;
}

/** "TX", or "TX, store DFW" */
export function placeText({ tenant, store }: { tenant: string; store: string | null }): string {
  return store === null ? tenant : `${tenant}, store ${store}`;
}

export function tagColumns(nowMs: number): Column<Tag>[] {
  return [
    { title: 'ID', value: (tag) => tag.id },
    { title: 'TENANT', isElastic: true, value: (tag) => tag.tenant },
    {
      title: 'STORE',
      isElastic: true,
      value: (tag) => tag.store,
      shown: (tag) => tag.store ?? 'all',
    },
    { title: 'DAYS (UTC)', value: (tag) => `${tag.from ?? ''}/${tag.to ?? ''}`, shown: windowText },
    { title: 'DATASET', value: (tag) => tag.dataset },
    {
      title: 'RECORDS',
      align: 'right',
      value: (tag) => tag.count,
      shown: (tag) => formatCount(tag.count),
    },
    {
      title: 'BYTES',
      align: 'right',
      value: (tag) => tag.bytes,
      shown: (tag) => formatBytes(tag.bytes),
    },
    {
      title: 'TAGGED',
      value: (tag) => tag.created_at,
      shown: (tag) => formatRelative(tag.created_at, nowMs),
    },
    { title: 'NOTE', isElastic: true, value: (tag) => tag.note },
  ];
}
