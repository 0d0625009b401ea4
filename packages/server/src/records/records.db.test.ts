import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestService, type TestService } from '../../test/service.ts';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
afterAll(() => service.stop());

function record(n: number, more: Record<string, unknown> = {}) {
  return {
    tenant: 'TX',
    store: 'DFW',
    event_id: `e${String(n).padStart(5, '0')}`,
    occurred_at: `2001-03-${String((n % 31) + 1).padStart(2, '0')}T00:00:00.5Z`,
    enrichment: { n },
    ...more,
  };
}

test('stores a batch once, tells duplicates and conflicts, and counts', async () => {
  const records = Array.from({ length: 40 }, (_, n) => record(n));
  const first = await service.call('POST', '/enrichment/records', { body: { records } });
  expect(first.text).toBe('{"accepted":40,"duplicates":0,"rejected":[],"rejected_count":0}');
  const again = await service.call('POST', '/enrichment/records', {
    body: { records: [...records, record(40), record(1, { enrichment: { n: 'other' } })] },
  });
  expect(again.json).toMatchObject({ accepted: 1, duplicates: 40, rejected_count: 1 });
  expect(again.json.rejected[0]).toMatchObject({ index: 41, code: 'conflict' });
  const leaves = await service.call('GET', '/enrichment/datasets?include=days');
  expect(leaves.json.data).toMatchObject([
    { tenant: 'TX', store: 'DFW', month: '2001-03', count: 41 },
  ]);
  const page = await service.call('GET', '/enrichment/records?tenant=TX&limit=30');
  expect(page.json.data).toHaveLength(30);
  const next = await service.call(
    'GET',
    `/enrichment/records?tenant=TX&limit=30&cursor=${page.json.next_cursor}`,
  );
  expect(next.json.data).toHaveLength(11);
  const csv = await service.call('POST', '/exports/csv', { body: { tenant: 'TX' } });
  expect(csv.headers.get('x-record-count')).toBe('41');
  expect(csv.text.split('\n')).toHaveLength(43);
});
