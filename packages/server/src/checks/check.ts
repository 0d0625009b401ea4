import type { ProcessRow } from './contract.ts';
import type { Look } from './look.ts';
import type { CheckName, CheckSeverity, NoticeKind } from './values.ts';

/** One thing that a check has found. */
export type Problem = {
  /** A sentence without its full stop, in lower case, so that it can stand after another. */
  readonly text: string;
  /** How bad it is, where that is not as bad as its check says. `ok`: nothing is wrong, in words of its own. */
  readonly severity?: CheckSeverity | 'ok' | 'unchecked';
  /** How many things it tells of at once; 1 where that is not said. */
  readonly count?: number;
  /** The id of what it is about, such as a run, an endpoint, a tenant or a process. */
  readonly id?: string;
  readonly tenant?: string | null;
  /** RFC 3339; null: as of now. */
  readonly since?: string | null;
  /** What to do and to type, where that is not what its check says. */
  readonly remedy?: string;
  readonly command?: string;
};

/** What is checked under a name of its own in a row of svcctl doctor; null: not there. */
type Named =
  | { readonly name: CheckName; readonly row?: never }
  | { readonly name: NoticeKind | OwnName; readonly row: CheckName | null };
type OwnName = 'database_read_only' | 'standby_missing' | `run_${string}` | 'cold_data_unverified';

/** One row of what is checked. */
export type Check<To = Look> = Named & {
  /** How bad anything is that this check finds. */
  readonly severity: CheckSeverity;
  /** Whether it reads next to nothing: such checks are part of GET /status and of the metrics. */
  readonly isQuick?: true;
  /** Looks for what is wrong. What it throws says that it could not be checked. */
  look(to: To): Promise<readonly Problem[]> | readonly Problem[];
  /** What is said when nothing is wrong. */
  readonly well: string;
  /** What to do about it, in whole sentences. */
  readonly remedy: string;
  /** The command that mends it, or says what does; without an id for several at once. */
  command?(id?: string): string;
};

/** A check of which people are told, on OVERVIEW and by notices. */
export type ToldCheck = Check & {
  readonly name: NoticeKind;
  /** It is told when it has lasted for so long: what passes by itself is not worth a call at night. */
  readonly holdSeconds: number;
  /** Whether it is told again each day for as long as it lasts; true where that is not said. */
  readonly isRepeated?: false;
  /** Whether there is only one at a time, so that another id is a trouble anew. */
  readonly isSingle?: true;
  /** What is said of several at once, by how many they are. */
  many?(count: number): string;
  command(id?: string): string;
  /** Where the console shows it, as `#/endpoints`. */
  place(id?: string): string;
};

/** The row of svcctl doctor that tells of a check; null: none does. */
export function rowOf(check: Named): CheckName | null {
  return check.row === undefined ? check.name : check.row;
}

/** Nothing where the count is 0, else the one problem that tells of so many. */
export function ifAny(count: number, text: string, more: Partial<Problem> = {}): Problem[] {
  return count === 0 ? [] : [{ text, count, ...more }];
}

/** A process as sentences name it. */
export function nameOf({ host, pid }: Pick<ProcessRow, 'host' | 'pid'>): string {
  return `${host}:${pid}`;
}
