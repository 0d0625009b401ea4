import { describe, expect, it, test } from 'vitest';
import type { WorkRow } from '../platform/http/schemas.contract.ts';
import type { Look } from './check.ts';
import { checkOf, findForNotices, findTroubles } from './examine.ts';
import { troubleKinds } from './values.ts';

const verification = {
  id: 'vrf_1',
  ok: true as boolean | null,
  problem_count: 0,
  segments_total: 3,
  finished_at: null,
};
const run = { id: 'run_1', ok: true, failed_moves: 0, moved_count: 5, finished_at: null };
const ofRetention = (more: { verification?: object; run?: object } = {}) => ({
  retention: {
    verification: { ...verification, ...more.verification },
    run: { ...run, ...more.run },
  },
  work: [],
});
const nothing = {
  db: { query: async () => [] },
  verifyDays: 0,
  processes: async () => [],
  slowStatements: () => [],
  storeClockAheadMillis: () => null,
  nextRun: () => null,
  sampleCounters: async () => [],
  unusedTokens: async () => [],
  isScraped: () => false,
  overdue: async () => ({ lastQueuedMillis: 0, waiting: 0, unverified: 0 }),
};
const well: Look = {
  ...nothing,
  retention: async () => ofRetention(),
  exports: async () => [],
  counts: async () => [],
  schedules: async () => [],
  overdueRemovals: async () => 0,
  storeProblems: async () => [],
  webhooks: async () => ({ abandoned: 0, endpoints: { failing: 0 }, named: [] }),
  unreached: async () => [],
  fullDisks: async () => [],
  purgedSoon: async () => 0,
  keyFault: async () => null,
  sealFault: () => null,
  failingCopy: async () => undefined,
  overdueBackup: async () => null,
  waitingApprovals: async () => [],
  largeExports: async () => [],
};
const ill: Look = {
  ...nothing,
  retention: async () => ({
    ...ofRetention({
      verification: { ok: false, problem_count: 7 },
      run: { ok: false, failed_moves: 2 },
    }),
    work: [{ state: 'waiting' }, { state: 'running' }] as WorkRow[],
  }),
  exports: async () => [],
  counts: async () => [{ state: 'waiting' }, { state: 'queued' }] as WorkRow[],
  schedules: async () => [
    {
      id: 'sch_1',
      tenant: 'TX',
      name: 'nightly',
      state: 'failing' as const,
      since: '2026-03-05T14:07:09.123456Z',
    },
  ],
  overdueRemovals: async () => 4,
  storeProblems: async () => ['the store of cold data cannot be used'],
  webhooks: async () => ({
    abandoned: 72,
    endpoints: { failing: 3, gone: 1, disabled: 2, held: 4 },
    named: [
      { id: 'ep_1', tenant: 'TX', url: 'https://tx.example/in?key=1', state: 'failing' },
      { id: 'ep_2', tenant: 'CA', url: 'https://ca.example/in?key=2', state: 'gone' },
    ],
  }),
  unreached: async () => [
    ...(['ntt_1', 'ntt_2'] as const).map((id) => ({
      id,
      kind: 'webhook' as const,
      address: 'https://pager.example/key',
      since: '2026-03-05T14:07:09.123456Z',
    })),
  ],
  fullDisks: async () => [{ host: 'one', free_percent: 9 }],
  purgedSoon: async () => 0,
  keyFault: async () => 'There is no /data/secret-key',
  sealFault: () => 'Place 5 is not as it was sealed.',
  failingCopy: async () => ({
    location: 's3://log',
    error: 'refused',
    failing_since: '2026-03-05T14:07:09.123456Z',
  }),
  overdueBackup: async () => undefined,
  waitingApprovals: async () => [
    {
      id: 'apr_1',
      says: 'Erases 1 record of TX.',
      asker: 'ada',
      tenant: 'TX',
      since: '2026-03-05T14:07:09.123456Z',
    },
  ],
  largeExports: async () => [
    {
      id: 'tok_1',
      name: 'desk',
      rows: 1_204_000,
      exports: 3,
      tenant: 'TX',
      since: '2026-03-05T14:07:09.123456Z',
    },
  ],
};

describe('findTroubles', () => {
  it('finds none while all is well', async () => {
    expect(await findTroubles(well)).toEqual([]);
  });

  it('names the worst first, and by its id what is the only one', async () => {
    const all = await findTroubles(ill);
    expect(all.map(({ kind, count, id }) => [kind, count, id])).toEqual([
      ['verification_differs', 7, 'vrf_1'],
      ['store_unusable', 1, null],
      ['removals_overdue', 4, null],
      ['store_waited_for', 2, null],
      ['disk_nearly_full', 1, 'one'],
      ['endpoints_failing', 3, null],
      ['endpoints_gone', 1, 'ep_2'],
      ['endpoints_disabled', 2, null],
      ['endpoints_held', 4, null],
      ['deliveries_abandoned', 72, null],
      ['schedules_behind', 1, 'sch_1'],
      ['backup_overdue', 1, null],
      ['audit_unsealed', 1, null],
      ['audit_uncopied', 1, null],
      ['approvals_waiting', 1, 'apr_1'],
      ['exports_large', 1, 'tok_1'],
      ['run_failed', 2, 'run_1'],
      ['notices_undelivered', 2, null],
    ]);
  });

  it('says of several how many they are, and of one what it is, with what mends it', async () => {
    const all = await findTroubles(ill);
    const of = (kind: string) => all.find((each) => each.kind === kind);
    expect(of('endpoints_failing')).toMatchObject({
      text: '3 endpoints failing',
      command: 'svcctl endpoints ls --health failing',
      place: '#/endpoints?health=failing',
      severity: 'warning',
    });
    expect(of('endpoints_gone')).toMatchObject({
      text: 'the endpoint ca.example of CA was disabled, because it answered 410 Gone',

      command: 'svcctl endpoints show ep_2',
      place: '#/endpoints?health=gone&panel=endpoint/ep_2',
    });
    expect(of('notices_undelivered')?.text).toBe('notices do not reach 2 targets');
    expect(of('verification_differs')).toMatchObject({
      severity: 'critical',
      place: '#/retention?panel=verification/vrf_1',
      command: 'svcctl retention verify vrf_1',
    });
    expect(JSON.stringify(all)).not.toContain('key');
  });

  it('tells a run that failed before its first move, and a verification that could not end', async () => {
    const failed = ofRetention({ verification: { ok: null }, run: { ok: false } });
    const all = await findTroubles({ ...well, retention: async () => failed });
    expect(all.map(({ kind, count }) => [kind, count])).toEqual([
      ['run_failed', 1],
      ['verification_failed', 1],
    ]);
  });

  it('tells nothing of runs and verifications to who may not see them', async () => {
    const none = { retention: null, work: [] };
    expect(await findTroubles({ ...well, retention: async () => none })).toEqual([]);
  });
});

test('people are told of each endpoint, and of a run by its id anew', async () => {
  const found = await findForNotices(ill);
  const of = (kind: string) => found.filter((each) => each.kind === kind);
  expect(of('endpoints_failing')[0]).toMatchObject({
    subject: 'ep_1',
    ref: '',
    tenant: 'TX',
    severity: 'warning',
    isRepeated: true,
    title: 'Webhooks of TX to tx.example keep failing',
    advice: expect.stringMatching(/\. Next: svcctl endpoints show ep_1\.$/),
  });
  expect(of('endpoints_gone')[0]).toMatchObject({ isRepeated: false, holdSeconds: 0 });
  expect(of('run_failed')).toMatchObject([{ subject: '', ref: 'run_1' }]);
  expect(of('store_unusable')).toMatchObject([{ severity: 'critical', holdSeconds: 300 }]);
  expect(of('notices_undelivered').map(({ subject }) => subject)).toEqual(['ntt_1', 'ntt_2']);
});

test('something checks each kind of trouble', () => {
  expect(troubleKinds.map((kind) => checkOf(kind).name)).toEqual([...troubleKinds]);
});
