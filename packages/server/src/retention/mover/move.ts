import type { DuckDb } from '../../platform/duckdb.ts';
import type { Log } from '../../platform/log.ts';
import type { StoreFence } from '../../platform/objects/fence.ts';
import type { ObjectStore } from '../../platform/objects/objects.ts';
import type { Connection, Database } from '../../platform/postgres/database.ts';
import type { DayTriple, Gone, GoneEffects, NewSegment } from '../../records/segments.ts';
import type { MoveKind, MoveState } from '../values.ts';

/** A move as the mover works on it. Days are `YYYY-MM-DD`, both inclusive. */
export type Move = {
  readonly tenant: string;
  readonly id: string;
  readonly kind: MoveKind;
  readonly state: MoveState;
  readonly first_day: string;
  readonly last_day: string;
  /** What was asked for (erase); null for the other kinds. */
  readonly request: unknown;
};

/** A segment that a move reads or writes. */
export type MoveSegment = {
  readonly segment_id: string;
  readonly object_key: string;
  readonly size_bytes: number | null;
  readonly sha256: Buffer | null;
};

/** What moving cold data needs. */
export type MoverContext = {
  readonly db: Database;
  readonly duckdb: DuckDb;
  readonly store: ObjectStore;
  /** Asked before anything is written or removed: another database may have the store by now. */
  readonly fence: Pick<StoreFence, 'advance' | 'assertOwn'>;
  /** A folder of this process alone, for copies on their way. */
  readonly spoolDir: string;
  /** Of this process: a move that another one takes over cannot be changed by it any more. */
  readonly runner: string;
  /** Objects that nothing refers to any more are kept so long. */
  readonly graceSeconds: number;
  readonly log: Log;
  /**
   * Told which records leave for good, inside the transaction that lets them go, while nobody can pin a
   * slice of the tenant. Answers what else goes or changes with them; without it nothing does.
   */
  readonly onGone?: (connection: Connection, gone: Gone) => Promise<GoneEffects>;
  /** For tests of faults: runs before and after each change of a move's state is committed. */
  readonly onArrow?: (to: MoveState, when: 'before' | 'after', move: Move) => Promise<void>;
};

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
