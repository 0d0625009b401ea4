import { describe, expect, it } from 'vitest';
import type { RetentionOverview } from '../retention/contract.ts';
import type { WebhooksOverview } from '../webhooks/contract.ts';
import { findTroubles } from './find-troubles.ts';

const verification = {
  id: 'vrf_1',
  ok: true,
  problem_count: 0,
  segments_total: 3,
  finished_at: null,
};
const run = { id: 'run_1', ok: true, failed_moves: 0, moved_count: 5, finished_at: null };
const retention: RetentionOverview = { verification, run };
const hours = { from: '2026-01-01T00:00:00.000000Z', delivered: [], failed: [], abandoned: [] };
const webhooks: WebhooksOverview = {
  ...{ abandoned: 0, pending: 4, oldest_failure_at: null, hours },
  ...{ failing: 0, degraded: 2, gone: 0, disabled: 0, held: 0, endpoints: [] },
};
const well = { retention, webhooks, unreached: 0, isStoreUnusable: false };

describe('findTroubles', () => {
  it('finds none while only retries wait and some endpoints failed once', () => {
    expect(findTroubles(well)).toEqual([]);
  });

  it('names the worst first', () => {
    const all = findTroubles({
      isStoreUnusable: true,
      unreached: 2,
      fullDisks: 1,
      overdueRemovals: 4,
      work: [{ state: 'waiting' }, { state: 'running' }],
      isBackupOverdue: true,
      retention: {
        verification: { ...verification, ok: false, problem_count: 7 },
        run: { ...run, ok: false, failed_moves: 2 },
      },
      webhooks: { ...webhooks, failing: 3, gone: 1, disabled: 2, held: 4, abandoned: 72 },
    });
    expect(all.map(({ kind, count, id }) => [kind, count, id])).toEqual([
      ['verification_differs', 7, 'vrf_1'],
      ['store_unusable', 1, null],
      ['removals_overdue', 4, null],
      ['store_waited_for', 1, null],
      ['disk_nearly_full', 1, null],
      ['endpoints_failing', 3, null],
      ['endpoints_gone', 1, null],
      ['endpoints_disabled', 2, null],
      ['endpoints_held', 4, null],
      ['deliveries_abandoned', 72, null],
      ['backup_overdue', 1, null],
      ['run_failed', 2, 'run_1'],
      ['notices_undelivered', 2, null],
    ]);
  });

  it('tells a run that failed before its first move, and a verification that could not end', () => {
    const all = findTroubles({
      ...well,
      retention: { verification: { ...verification, ok: null }, run: { ...run, ok: false } },
    });
    expect(all.map(({ kind, count }) => [kind, count])).toEqual([
      ['run_failed', 1],
      ['verification_failed', 1],
    ]);
  });

  it('tells nothing of what the caller may not see', () => {
    expect(
      findTroubles({ ...well, retention: null, webhooks: null, isStoreUnusable: true }),
    ).toEqual([]);
  });
});
