import type { Look } from './look.ts';
import type { CheckSeverity, NoticeKind } from './values.ts';

/** One thing that is wrong. */
export type Problem = {
  /** A sentence without its full stop, in lower case, so that it can stand after another. */
  readonly text: string;
  /** How many things it tells of at once; 1 where that is not said. */
  readonly count?: number;
  /** The id of what it is about, such as a run, an endpoint or a machine. */
  readonly id?: string;
  readonly tenant?: string | null;
  /** RFC 3339; null: as of now. */
  readonly since?: string | null;
};

/** One row of what is checked. */
export type Check = {
  readonly name: NoticeKind;
  /** How bad anything is that this check finds. */
  readonly severity: CheckSeverity;
  /** People are told of it when it has lasted for so long: what passes by itself is not worth a call at night. */
  readonly holdSeconds: number;
  /** Whether they are told again each day for as long as it lasts; true where that is not said. */
  readonly isRepeated?: false;
  /** Whether there is only one at a time, so that another id is a trouble anew. */
  readonly isSingle?: true;
  look(to: Look): Promise<readonly Problem[]>;
  /** What is said of several at once, by how many they are. */
  many?(count: number): string;
  /** What to do about it, in whole sentences. */
  readonly remedy: string;
  /** The command that mends it, or says what does; without an id for several at once. */
  command?(id?: string): string;
  /** Where the console shows it, as `#/endpoints`. */
  place(id?: string): string;
};

/** How many of something there are. */
export function numberOf(count: number, singular: string, plural = `${singular}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? singular : plural}`;
}

/** Nothing where the count is 0, else the one problem that tells of so many. */
export function ifAny(count: number, text: string, more: Partial<Problem> = {}): Problem[] {
  return count === 0 ? [] : [{ text, count, ...more }];
}
