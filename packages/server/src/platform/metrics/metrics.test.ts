import { expect, test } from 'vitest';
import { createMetrics } from './metrics.ts';

test('whoever read the metrics five minutes ago or more does not read them any more', async () => {
  let now = 0;
  const facts = {
    ...{ version: '0.1.0', schema: '0001-x.sql', roles: {}, works: [] },
    poolState: () => ({ total: 0, idle: 0, waiting: 0 }),
    storeState: () => 'own' as const,
  };
  const metrics = createMetrics(facts, () => now);
  expect(metrics.isScraped()).toBe(false);
  expect(await metrics.read()).toContain('svcctl_ingest_records_total');
  now = 299_999;
  expect(metrics.isScraped()).toBe(true);
  now = 300_000;
  expect(metrics.isScraped()).toBe(false);
});
