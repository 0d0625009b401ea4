import { expect } from 'vitest';
import type { Service } from './installation.ts';
import { toNdjson } from './records.ts';

export type IngestAnswer = {
  accepted: number;
  duplicates: number;
  rejected: { index: number; code: string; message: string }[];
  rejected_count: number;
};

/** Sends records as one NDJSON stream. */
export async function ingestStream(
  service: Service,
  records: readonly unknown[],
): Promise<IngestAnswer> {
  const answer = await service.call('POST', '/enrichment/records', {
    body: toNdjson(records),
    headers: { 'content-type': 'application/x-ndjson' },
  });
  expect(answer.status, answer.text).toBe(200);
  return answer.json;
}

/** Sends records as one JSON batch, which is stored in one transaction, and expects all of them to be new. */
export async function ingestBatch(service: Service, records: readonly unknown[]): Promise<void> {
  const answer = await service.call('POST', '/enrichment/records', { body: { records } });
  expect(answer.status, answer.text).toBe(200);
  expect(answer.json.rejected.slice(0, 3)).toEqual([]);
  expect(answer.json.accepted).toBe(records.length);
}
