import { byState } from '../platform/metrics/figures.ts';
import { databaseFigures } from '../platform/postgres/figures.ts';
import { surveyLanes } from './drainer/queries.ts';
import * as queries from './figure-queries.ts';
import { allLanes } from './lanes.ts';
import { deadLetterStatuses, dueStates, endpointHealths, openJobStates } from './values.ts';

/** What webhooks tell in the metrics. */
export const webhookFigures = databaseFigures({
  name: 'webhooks',
  gauges: {
    svcctl_deliveries_due: {
      help: 'Deliveries whose time has come, up to 10,000 of each state: ready, those that wait for their endpoint (paused by its breaker, disabled, rate_limited).',
      label: 'state',
    },
    svcctl_deliveries_due_oldest_age_seconds: {
      help: 'For how long the first of them has been due.',
      label: 'state',
    },
    svcctl_dead_letters: { help: 'Deliveries in the dead-letter queue.', label: 'status' },
    svcctl_dead_letters_oldest_age_seconds: {
      help: 'How long ago the dead letter failed that was left alone longest.',
      label: 'status',
    },
    svcctl_endpoints: {
      help: 'Endpoints by how they fare: failing = the breaker is open, degraded = more than one in twenty recent attempts failed, gone = disabled by a 410.',
      label: 'state',
    },
    svcctl_dead_letter_jobs: {
      help: 'Bulk retries and purges that have not ended.',
      label: 'state',
    },
    svcctl_dead_letter_jobs_oldest_age_seconds: {
      help: 'How long ago the oldest of them was asked for.',
      label: 'state',
    },
    svcctl_drainers: { help: 'Processes that deliver webhooks.' },
    svcctl_drainer_lanes_held: { help: 'Lanes that one of them works on, of 64.' },
  },
  async read(db) {
    const due = byState(
      dueStates,
      await queries.countDue(db, { lanes: allLanes, states: dueStates }),
    );
    const dead = byState(deadLetterStatuses, await queries.countDeadLetters(db));
    const jobs = byState(openJobStates, await queries.countOpenJobs(db));
    const endpoints = await queries.countEndpoints(db);
    const { drainers, held } = await surveyLanes(db);
    const ageless = endpoints.map((row) => ({ ...row, age_seconds: 0 }));
    return {
      svcctl_deliveries_due: due.counts,
      svcctl_deliveries_due_oldest_age_seconds: due.ages,
      svcctl_dead_letters: dead.counts,
      svcctl_dead_letters_oldest_age_seconds: dead.ages,
      svcctl_endpoints: byState(endpointHealths, ageless).counts,
      svcctl_dead_letter_jobs: jobs.counts,
      svcctl_dead_letter_jobs_oldest_age_seconds: jobs.ages,
      svcctl_drainers: drainers,
      svcctl_drainer_lanes_held: held.length,
    };
  },
});
