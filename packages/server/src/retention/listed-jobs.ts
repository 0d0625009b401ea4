import { numberOf, workStates } from '../kernel/values.ts';
import { type ListedKind, ofTenants } from '../platform/jobs/listed.ts';
import { listedRuns } from './runs/queries.ts';
import { listedVerifications } from './verify/queries.ts';

/** Runs in the list of all jobs. */
export const runsAsJobs: ListedKind<{
  is_limited: boolean;
  moved: number;
  deleted: number;
  failed_moves: number;
}> = {
  kind: 'run',
  scope: 'enrichment:read',
  unit: 'records',
  path: '/retention/runs',
  table: listedRuns,
  summary({ tenant, told: { is_limited, moved, deleted, failed_moves: failed } }) {
    const done = `${numberOf(moved, 'record')} moved, ${numberOf(deleted, 'record')} deleted`;
    const and = failed === 0 ? '' : `, ${numberOf(failed, 'move')} failed`;
    return `Moves and deletes old days ${ofTenants(tenant, is_limited)}: ${done}${and}.`;
  },
  hasFaults: ({ failed_moves: failed }) => failed > 0,
};

/** Verifications in the list of all jobs. */
export const verificationsAsJobs: ListedKind<{
  is_limited: boolean;
  problems: number;
  sample_percent: number | null;
}> = {
  kind: 'verification',
  scope: 'enrichment:read',
  unit: 'bytes',
  path: '/retention/verify',
  table: listedVerifications,
  summary({ tenant, state, told }) {
    const { is_limited, problems, sample_percent: percent } = told;
    const sample = percent === null ? '' : `${percent} % of `;
    const found = problems === 0 ? 'no problems' : numberOf(problems, 'problem');
    const isUnderWay = workStates.some((open) => open === state);
    const end = isUnderWay ? 'so far' : 'found';
    return `Checks ${sample}the cold data ${ofTenants(tenant, is_limited)}: ${found} ${end}.`;
  },
  hasFaults: ({ problems }) => problems > 0,
};
