import type { NoticeKind, Severity, Telling } from '../values.ts';

/** When something is told. */
export type NoticeRule = {
  /** A trouble is told when it has lasted for so long. */
  readonly holdSeconds: number;
  /** Whether it is told again each day for as long as it lasts. */
  readonly isRepeated: boolean;
};

/** Something that is wrong, or has ended, as it is found. */
export type Found = NoticeRule & {
  readonly kind: NoticeKind;
  /** The id of what it is about; '' when there is only one of its kind. */
  readonly subject: string;
  /** The run or the verification that shows it; '' when there is none. Another one is told anew. */
  readonly ref: string;
  readonly severity: Severity;
  readonly tenant: string | null;
  /** What happened, and what to do, in a sentence each. */
  readonly title: string;
  readonly advice: string;
  /** Where the console shows it, as `#/endpoints`. */
  readonly place: string;
  /** RFC 3339; null: as of now. */
  readonly since: string | null;
};

/** A trouble that has not ended, as it is stored. Ages are in seconds. */
export type OpenTrouble = {
  readonly id: string;
  readonly kind: NoticeKind;
  readonly subject: string;
  readonly ref: string;
  readonly title: string;
  readonly age: number;
  /** How long ago it was told; null while it is held back. */
  readonly told_age: number | null;
  /** How long it has not been found; null when it was found at the last look. */
  readonly missing_age: number | null;
};

/** What becomes of the stored troubles. */
export type Changes = {
  readonly begun: readonly { found: Found; isTold: boolean }[];
  /** Those that are found again; `tells` is null for those that nobody is told of. */
  readonly kept: readonly { id: string; found: Found; tells: Telling | null }[];
  /** Those that are not found, and wait for their end. */
  readonly missing: readonly string[];
  /** Those that are over. Those that were held back until now are forgotten. */
  readonly over: readonly { id: string; tells: Telling | null }[];
  readonly forgotten: readonly string[];
};

/** A trouble that was told is over when it was not found for so long. One that flaps goes on. */
const missingSeconds = 900;
const repeatSeconds = 86_400;

/** Compares what is found with what is stored. A trouble that changes nothing appears nowhere. */
export function reconcile(open: readonly OpenTrouble[], found: readonly Found[]): Changes {
  const known = new Map(open.map((trouble) => [keyOf(trouble), trouble]));
  const present = new Set(found.map(keyOf));
  const subjects = new Set(found.map(({ subject }) => subject).filter((subject) => subject !== ''));
  const absent = open.filter((trouble) => !present.has(keyOf(trouble)));
  const gone = absent.filter(({ told_age }) => told_age !== null);
  const isOver = ({ missing_age: age }: OpenTrouble) => age !== null && age >= missingSeconds;
  return {
    begun: found
      .filter((each) => !known.has(keyOf(each)))
      .map((each) => ({ found: each, isTold: each.holdSeconds === 0 })),
    kept: found.flatMap((each) => {
      const trouble = known.get(keyOf(each));
      if (trouble === undefined) return [];
      const tells = tellingOf(trouble, each);
      const isSame = trouble.title === each.title && trouble.missing_age === null;
      return tells === null && isSame ? [] : [{ id: trouble.id, found: each, tells }];
    }),
    missing: gone.filter(({ missing_age: age }) => age === null).map(({ id }) => id),
    // Where the same endpoint has another trouble, such as that it is gone, it has not recovered.
    over: gone
      .filter(isOver)
      .map(({ id, subject }) => ({ id, tells: subjects.has(subject) ? null : 'over' })),
    forgotten: absent.filter(({ told_age }) => told_age === null).map(({ id }) => id),
  };
}

function tellingOf(trouble: OpenTrouble, found: Found): Telling | null {
  const { holdSeconds, isRepeated, ref } = found;
  if (trouble.told_age === null) return trouble.age >= holdSeconds ? 'begun' : null;
  if (trouble.ref !== ref) return 'begun';
  return isRepeated && trouble.told_age >= repeatSeconds ? 'reminder' : null;
}

function keyOf({ kind, subject }: { kind: NoticeKind; subject: string }): string {
  return `${kind} ${subject}`;
}
