import { expect, test } from 'vitest';
import { ringOf } from '../../../test/keyring.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { ClaimedRow } from '../claim.ts';
import { createSecretBox } from '../secret.ts';
import { EndpointConfigs } from './deliver.ts';

const rowOf = (id: string): ClaimedRow => ({
  incident_id: 'inc_1',
  request_id: null,
  trace_parent: null,
  lane: 0,
  id: `delivery of ${id}`,
  endpoint_id: id,
  tenant: 'TX',
  idempotency_key: 'msg_1',
  status: 'queued',
  failure_class: null,
  attempts: 0,
  max_attempts: 8,
  schedule_from: 0,
  body: '{}',
  config_version: 1,
  waited_ms: 0,
  throttled_seconds: null,
  is_fresh: true,
});

/** A database in which every endpoint asked for exists. */
const db = {
  query: async ({ values }: { values: unknown[] }) =>
    (values.find(Array.isArray) ?? []).map((id: string) => ({
      id,
      url: 'https://a.example/',
      retry_schedule: null,
      secret: Buffer.alloc(0),
      previous_secrets: [],
      previous_secrets_ms: [],
      config_version: 1,
    })),
} as unknown as Queryable;

test('answers for every row of a claim, also when it makes room for new endpoints', async () => {
  const box = createSecretBox(ringOf(1));
  const configs = new EndpointConfigs(
    db,
    () => box,
    () => 0,
  );
  const ids = Array.from({ length: 10_001 }, (_, n) => `ep_${n}`);
  await configs.load(ids.map(rowOf));
  await configs.load([rowOf('ep_0'), rowOf('ep_new')]);
  expect(configs.get('ep_0')).toBeDefined();
  expect(configs.get('ep_new')).toBeDefined();
});
