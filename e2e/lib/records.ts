import { randomBytes } from 'node:crypto';

/** A record as the pipeline sends it. */
export type NewRecord = {
  tenant: string;
  store: string;
  event_id: string;
  occurred_at: string;
  kind?: string | null;
  source?: string | null;
  model?: string | null;
  confidence?: number;
  enrichment: unknown;
};

const stores = ['DFW', 'AUS', 'IAH'];

/**
 * Makes the n-th record. Records are spread over three stores and four months, with several at the same instant.
 * `event_id` makes each unique; everything else follows from n, so that many writers meet in the same leaves.
 */
export function makeRecord(eventId: string, n: number, more: Partial<NewRecord> = {}): NewRecord {
  const month = String((n % 4) + 1).padStart(2, '0');
  const day = String((Math.floor(n / 4) % 28) + 1).padStart(2, '0');
  const second = String(Math.floor(n / 40) % 60).padStart(2, '0');
  return {
    tenant: 'TX',
    store: stores[n % stores.length] ?? 'DFW',
    event_id: eventId,
    occurred_at: `2001-${month}-${day}T12:00:${second}.25Z`,
    kind: n % 5 === 0 ? null : `kind-${n % 5}`,
    confidence: (n % 100) / 100,
    enrichment: { n, delay: n % 61, origin: { iata: 'DFW', name: 'Dallas/Fort Worth' } },
    ...more,
  };
}

/** Makes `count` records of one leaf, in key order. `sizeBytes` bytes of each cannot be compressed. */
export function makeLeaf(
  leaf: { tenant: string; store: string },
  count: number,
  sizeBytes = 15,
): NewRecord[] {
  return Array.from({ length: count }, (_, n) => ({
    ...leaf,
    event_id: `e${String(n).padStart(6, '0')}`,
    occurred_at: new Date(Date.UTC(2001, 2, 1) + n * 10_000).toISOString(),
    kind: 'departure',
    enrichment: { n, noise: randomBytes(sizeBytes).toString('base64') },
  }));
}

export function toNdjson(records: readonly unknown[]): string {
  return records.map((record) => `${JSON.stringify(record)}\n`).join('');
}
