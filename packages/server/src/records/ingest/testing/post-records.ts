import type { TestService } from '../../../../test/service.ts';
import type { Body } from '../body.ts';

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
