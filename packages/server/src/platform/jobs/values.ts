// The closed lists of the one list of all jobs, for the contract, the command line and the console. The file has no
// schema code.
import { workKinds, workStates } from '../../kernel/values.ts';

/** The kinds of jobs: all that may be under way, the counting of a dataset version, and an import of files. */
export const jobKinds = [...workKinds, 'version', 'import'] as const;
export type JobKindName = (typeof jobKinds)[number];

/** The states of jobs, into which each kind translates its own. In the last three the job has ended. */
export const jobStates = [...workStates, 'completed', 'failed', 'cancelled'] as const;
export type JobState = (typeof jobStates)[number];

/** What the progress of a job counts. */
export const jobUnits = ['records', 'bytes', 'deliveries'] as const;
export type JobUnit = (typeof jobUnits)[number];
