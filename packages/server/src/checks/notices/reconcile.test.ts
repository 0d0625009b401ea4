import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Found, type OpenTrouble, reconcile } from './reconcile.ts';

const found = (more: Partial<Found> = {}): Found => ({
  kind: 'endpoints_failing',
  subject: 'ep_1',
  ref: '',
  tenant: 'TX',
  since: null,
  title: 'It fails',
  advice: 'Mend it.',
  place: '#/endpoints',
  severity: 'warning',
  holdSeconds: 0,
  isRepeated: true,
  ...more,
});
const open = (more: Partial<OpenTrouble> = {}): OpenTrouble => ({
  id: 'ntc_1',
  kind: 'endpoints_failing',
  subject: 'ep_1',
  ref: '',
  title: 'It fails',
  age: 600,
  told_age: 600,
  missing_age: null,
  ...more,
});
const nothing = { begun: [], kept: [], missing: [], over: [], forgotten: [] };

describe('reconcile', () => {
  it('tells a new trouble at once, or holds it back where it may pass', () => {
    expect(reconcile([], [found()]).begun).toEqual([{ found: found(), isTold: true }]);
    const dead = found({ kind: 'deliveries_abandoned', subject: '', holdSeconds: 300 });
    expect(reconcile([], [dead]).begun).toEqual([{ found: dead, isTold: false }]);
    const held = open({ kind: 'deliveries_abandoned', subject: '', told_age: null, age: 299 });
    expect(reconcile([held], [dead])).toEqual(nothing);
    expect(reconcile([{ ...held, age: 300 }], [dead]).kept).toMatchObject([{ tells: 'begun' }]);
    expect(reconcile([held], [])).toEqual({ ...nothing, forgotten: ['ntc_1'] });
  });

  it('says nothing twice, but once a day that it lasts', () => {
    expect(reconcile([open()], [found()])).toEqual(nothing);
    expect(reconcile([open({ told_age: 86_399 })], [found()])).toEqual(nothing);
    expect(reconcile([open({ told_age: 86_400 })], [found()]).kept).toMatchObject([
      { id: 'ntc_1', tells: 'reminder' },
    ]);
    const gone = { kind: 'endpoints_gone' } as const;
    const once = found({ ...gone, isRepeated: false });
    expect(reconcile([open({ ...gone, told_age: 9e6 })], [once])).toEqual(nothing);
  });

  it('tells anew what another run or verification shows, and only keeps other words', () => {
    const run = { kind: 'run_failed', subject: '' } as const;
    const again = reconcile([open({ ...run, ref: 'run_1' })], [found({ ...run, ref: 'run_2' })]);
    expect(again.kept).toMatchObject([{ tells: 'begun' }]);
    const worded = reconcile([open()], [found({ title: 'It fails more' })]);
    expect(worded.kept).toMatchObject([{ tells: null, found: { title: 'It fails more' } }]);
  });

  it('ends what was not found for a quarter of an hour, and lets a trouble flap', () => {
    expect(reconcile([open()], [])).toEqual({ ...nothing, missing: ['ntc_1'] });
    expect(reconcile([open({ missing_age: 899 })], [])).toEqual(nothing);
    expect(reconcile([open({ missing_age: 900 })], []).over).toEqual([
      { id: 'ntc_1', tells: 'over' },
    ]);
    expect(reconcile([open({ missing_age: 899 })], [found()]).kept).toMatchObject([
      { id: 'ntc_1', tells: null },
    ]);
  });

  it('does not tell that an endpoint recovered which is gone', () => {
    const { over } = reconcile([open({ missing_age: 900 })], [found({ kind: 'endpoints_gone' })]);
    expect(over).toEqual([{ id: 'ntc_1', tells: null }]);
  });

  it('puts each trouble into one place at most', () => {
    const subject = fc.constantFrom('ep_1', 'ep_2', 'ep_3');
    const age = fc.option(fc.integer({ min: 0, max: 200_000 }));
    const troubles = fc.uniqueArray(
      fc.record({ subject, told_age: age, missing_age: age, age: fc.nat(200_000) }),
      { selector: (each) => each.subject },
    );
    const founds = fc.uniqueArray(subject);
    fc.assert(
      fc.property(troubles, founds, (stored, subjects) => {
        const rows = stored.map((each) => open({ ...each, id: each.subject }));
        const changes = reconcile(
          rows,
          subjects.map((each) => found({ subject: each })),
        );
        const ids = [
          ...changes.kept.map(({ id }) => id),
          ...changes.missing,
          ...changes.over.map(({ id }) => id),
          ...changes.forgotten,
        ];
        expect(new Set(ids).size).toBe(ids.length);
        const fresh = changes.begun.map((each) => each.found.subject);
        expect(fresh).toEqual(subjects.filter((each) => !rows.some(({ id }) => id === each)));
      }),
    );
  });
});
