import { type NoticeKind, noticeRules } from '../../notices/values.ts';
import type { Trouble } from '../../overview/contract.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { SlowStatement } from '../../platform/postgres/slow-statements.ts';
import type { ProcessRow } from '../contract.ts';
import type { CheckName } from '../values.ts';

/** What a check looks at. What belongs to another feature is asked by a function. */
export type Examined = {
  readonly db: Queryable;
  readonly processes: readonly ProcessRow[];
  /** The process that looks; null when it is none of the service. */
  readonly processId: string | null;
  readonly knownMigrations: readonly string[];
  /** The statements of this process that took long. */
  readonly listSlow: () => readonly SlowStatement[];
  /** How far the clock of this machine is ahead of that of the store of cold data; null when that tells none. */
  readonly storeClockAheadMillis: () => number | null;
  /** What is wrong with the store of cold data; null when nothing is. */
  readonly findStoreProblem: () => Promise<string | null>;
  /** What OVERVIEW tells as wrong. */
  readonly findTroubles: () => Promise<readonly Trouble[]>;
  /** Some days of some tenants whose counters are not what they count, a sentence each. */
  readonly sampleCounters: () => Promise<readonly string[]>;
  /** The first run that the schedule asks for after this time, in milliseconds; null when none. */
  readonly nextRun: (afterMillis: number) => number | null;
  /** In how many days all cold data is verified; 0: only on request. */
  readonly verifyDays: number;
  /** A disk with less than this free is nearly full. */
  readonly diskPercent: number;
  /** The last good backup where another is overdue, or undefined where there is none; null when none is overdue. */
  readonly findOverdueBackup: () => Promise<{ taken_at: string; place: string } | undefined | null>;
};

/** One thing that is wrong: a sentence, and how bad it is where that differs from its check. */
export type Problem = { readonly found: string; readonly severity?: 'warning' | 'problem' };

/** One row of what is checked. */
export type Check = {
  readonly name: CheckName;
  /** What anything is that this check finds. */
  readonly severity: 'warning' | 'problem';
  /** What is wrong; nothing when all is well. What it throws says that it could not be checked. */
  run(to: Examined): Promise<readonly Problem[]> | readonly Problem[];
  /** What is said when nothing is wrong. */
  readonly well: string;
  /** What to do about it. */
  readonly remedy: string;
  /** Whether it reads next to nothing: such checks are part of GET /status. */
  readonly isQuick?: true;
};

/** How bad it is what notices tell, too. */
export function severityOf(kind: NoticeKind): 'warning' | 'problem' {
  return noticeRules[kind].severity === 'critical' ? 'problem' : 'warning';
}

/** A process as sentences name it. */
export function nameOf({ host, pid }: Pick<ProcessRow, 'host' | 'pid'>): string {
  return `${host}:${pid}`;
}
