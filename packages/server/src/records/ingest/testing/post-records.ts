import type { TestService } from '../../../../test/service.ts';
import type { Body } from '../../../platform/http/body.ts';

/** Answers a function that makes valid records, each with an id of its own. */
export function createRecords() {
  let serial = 0;
  return (more: Record<string, unknown> = {}) => {
    serial += 1;
    return {
      tenant: 'T1',
      store: 'S1',
      event_id: `e${serial}`,
      occurred_at: '2020-02-29T23:59:59.999999Z',
      enrichment: { serial },
      ...more,
    };
  };
}

export function postBatch(service: TestService, ...records: unknown[]) {
  return service.call('POST', '/enrichment/records', { body: { records } });
}

export function postStream(
  service: TestService,
  body: string | Uint8Array,
  headers: Record<string, string> = {},
) {
  return service.call('POST', '/enrichment/records', {
    body,
    headers: { 'content-type': 'application/x-ndjson', ...headers },
  });
}

/** The body of a request to ingest, as `Ingest` reads it. */
export function bodyOf(text: string, isStream = false): Body {
  return {
    isStream,
    sizeBytes: null,
    sentBytes: () => 0,
    async *chunks() {
      yield Buffer.from(text);
    },
    discard: async () => {},
  };
}

/** Records of a tenant with the ids e0, e1 and so on, each with what `more` says of it. */
export function numberedRecords(
  tenant: string,
  count: number,
  more: (n: number) => object = () => ({}),
) {
  return Array.from({ length: count }, (_, n) => ({
    tenant,
    store: 'S',
    event_id: `e${n}`,
    occurred_at: '2001-01-01T00:00:00Z',
    enrichment: { n },
    ...more(n),
  }));
}

/** Stores records over HTTP, all of them new. */
export async function storeRecords(
  service: Pick<TestService, 'call'>,
  records: readonly object[],
): Promise<void> {
  const answer = await service.call('POST', '/enrichment/records', { body: { records } });
  if (answer.json.accepted !== records.length) throw new Error(answer.text);
}

/** Options of `createIngest` whose limits no test comes near. */
export const ingestLimits = {
  maxRecords: 100_000,
  maxBatchBytes: 2 ** 27,
  maxEnrichmentBytes: 2 ** 18,
  inFlightBytes: 2 ** 28,
  writers: 4,
  clock: () => Date.parse('2026-06-01T00:00:00Z'),
};

/** A record of one of two days and three stores, by its number. */
export function dayRecord(tenant: string, n: number, more: Record<string, unknown> = {}) {
  return {
    tenant,
    store: `S${n % 3}`,
    event_id: `e${n}`,
    occurred_at: `2025-03-0${1 + (n % 2)}T10:00:00.${String(n).padStart(6, '0')}Z`,
    kind: 'flight',
    enrichment: { n },
    ...more,
  };
}
/** Some of them, from a number on. */
export const dayRecords = (tenant: string, count: number, from = 0) =>
  Array.from({ length: count }, (_, n) => dayRecord(tenant, from + n));
