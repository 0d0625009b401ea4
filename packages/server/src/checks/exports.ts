import { numberOf } from '../kernel/values.ts';
import type { ToldCheck } from './check.ts';

/** Whether exports are delivered by themselves as they should. */
export const exportChecks: readonly ToldCheck[] = [
  {
    name: 'schedules_behind',
    row: 'troubles',
    severity: 'warning',
    // A failed run has tried for minutes, and a late one is late by half an hour.
    holdSeconds: 0,
    async look({ schedules }) {
      return (await schedules()).map(({ id, tenant, name, state, since }) => ({
        text:
          state === 'failing'
            ? `the last run of the schedule ${name} of ${tenant} failed`
            : `the schedule ${name} of ${tenant} is late`,
        id,
        tenant,
        since,
      }));
    },
    many: (count) => `${numberOf(count, 'schedule')} of exports fail or are late`,
    well: 'every schedule of exports delivers in time',
    remedy:
      'Nothing is lost: its next run delivers all that was stored meanwhile. The error of its last run says why it failed; one that is late waits for a process with the role exports, or for its store.',
    command: (id) => (id === undefined ? 'svcctl schedules ls' : `svcctl schedules show ${id}`),
    place: (id) =>
      id === undefined
        ? '#/exports?view=schedules'
        : `#/exports?view=schedules&panel=schedule/${id}`,
  },
];
