import type { Connection } from '../../platform/postgres/database.ts';
import type { DayTriple, NewSegment } from '../../records/index.ts';
import type { MoverContext } from './context.ts';
import type { Move, MoveSegment } from './move.ts';

/** A move at work: its row, the segments that it reads and those that it writes. */
export type MoveWork = {
  readonly move: Move;
  readonly in: readonly MoveSegment[];
  /** With keys decided beforehand: an object of them that is on its way is known to the journal. */
  readonly out: readonly MoveSegment[];
  /** A folder of its own, empty at the beginning and removed in the end. */
  readonly dir: string;
  readonly signal: AbortSignal;
};

/** What was written into local files, and what those must hold, by store and day. */
export type Copied = {
  /** Of `work.out`; those left out have no record and no object, and are struck from the journal. */
  readonly files: readonly { readonly segment_id: string; readonly path: string }[];
  readonly days: readonly DayTriple[];
};

/** A segment that was read back from the store and is what it should be; `path` is the copy read. */
export type VerifiedSegment = NewSegment & { readonly path: string };

/** Why a move must not be switched any more: a stable code, and a sentence. */
export type Refusal = { readonly code: string; readonly message: string };

/**
 * What a kind of move does by itself. The states, putting and reading back objects, the triples, fencing
 * and the removal of replaced objects are the same for all and lie in run-move.ts.
 */
export type KindSteps = {
  /** planned → copied: writes the new segments as files in `work.dir`. Runs again after a restart. */
  copy(context: MoverContext, work: MoveWork): Promise<Copied>;
  /**
   * verified → switched: inside the one transaction, most of all by `replaceSegments`; `work.in` goes out
   * of the catalogue, `segments` come in. Answers what leaves for good. Its objects are queued for removal
   * afterwards by the caller.
   */
  switch(
    connection: Connection,
    switching: {
      context: MoverContext;
      work: MoveWork;
      segments: readonly VerifiedSegment[];
    },
  ): Promise<readonly DayTriple[]>;
  /** switched → removed: what is to be done once no read finds the source any more. Runs again after a kill. */
  cleanUp?(context: MoverContext, work: MoveWork): Promise<void>;
  /** Asked last thing inside the switch: whether policies still let it happen. Hold is asked by the caller. */
  refuse(connection: Connection, move: Move): Promise<Refusal | null>;
};
