import type { Gate } from '../../kernel/gate.ts';
import type { DuckDb } from '../../platform/duckdb.ts';
import type { Log } from '../../platform/log.ts';
import type { StoreFence } from '../../platform/objects/fence.ts';
import type { ObjectStore } from '../../platform/objects/objects.ts';
import type { Connection, Database } from '../../platform/postgres/database.ts';
import type { Pace } from '../../platform/work/pace.ts';
import type {
  DayTriple,
  Gone,
  GoneEffects,
  NewSegment,
  Triple,
  Upload,
} from '../../records/segments.ts';
import type { DueDays } from '../policies/queries.ts';
import type { MoveKind, MoveState } from '../values.ts';

/** A move, as the mover works on it. Days are `YYYY-MM-DD`; both ends belong to it. */
export type Move = {
  readonly tenant: string;
  readonly id: string;
  readonly kind: MoveKind;
  readonly state: MoveState;
  readonly first_day: string;
  readonly last_day: string;
  /** What an erasure, deletion or import was asked for (scope.ts, erase-steps.ts, import-steps.ts); null for others. */
  readonly request: unknown;
  /** What an import brings; only the process that was sent it has it. */
  readonly upload?: Upload;
  /** Set by the process that planned it, if it is known to be small; see `isSmall`. */
  readonly isSmall?: boolean;
};

/** A segment that a move reads or writes. Size and checksum are null until the object is written. */
export type MoveSegment = {
  readonly segment_id: string;
  readonly object_key: string;
  readonly size_bytes: number | null;
  readonly sha256: Buffer | null;
};

/** What the mover needs from the process that it runs in. */
export type MoverContext = {
  readonly db: Database;
  readonly duckdb: DuckDb;
  readonly store: ObjectStore;
  /** Must be asked before anything is written or removed, because another database may have the store by now. */
  readonly fence: Pick<StoreFence, 'advance' | 'assertOwn'>;
  /** A folder that only this process uses, for files on their way. */
  readonly spoolDir: string;
  /** Identifies this process. Once another process takes over a move, this one cannot change it any more. */
  readonly runner: string;
  /** How long objects are kept that nothing refers to any more, for readers that still use them. */
  readonly graceSeconds: number;
  /** How long an erasure waits, for all tables, for readers that began before it. It is usually left out. */
  readonly snapshotMillis?: number;
  readonly log: Log;
  readonly pace: Pace;
  /**
   * Moves of several tenants wait for turns (`tenantsAtOnce`): DuckDB has memory for many small moves, or one other.
   */
  readonly turns?: Gate | undefined;
  /**
   * Is told which records leave for good, inside the transaction that lets them go and while nobody can pin a slice of
   * the tenant. Returns what else goes or changes because of it. Without this function nothing else does.
   */
  readonly onGone?: (connection: Connection, gone: Gone) => Promise<GoneEffects>;
  /**
   * Removes the keys by which backups encrypted a tenant before `ended`. False: the place is not there. Without this
   * function backups have no such keys.
   */
  readonly removeKeys?:
    | ((of: { tenant: string; ended: string }, signal: AbortSignal) => Promise<boolean>)
    | undefined;
  /** For tests of faults: runs before and after the commit of each change of a move's state. */
  readonly onTransition?: (to: MoveState, when: 'before' | 'after', move: Move) => Promise<void>;
};

/** A move at work: its row, the segments that it reads (`in`) and those that it writes (`out`). */
export type MoveWork = {
  readonly move: Move;
  readonly in: readonly MoveSegment[];
  /** Their keys are decided before anything is written, so that the journal knows every object that may exist. */
  readonly out: readonly MoveSegment[];
  /** A folder for this move alone. It is empty in the beginning and removed in the end. */
  readonly dir: string;
  readonly signal: AbortSignal;
  /** Gives way to clients. It must not be awaited in a transaction that has locked anything. */
  readonly rest: () => Promise<void>;
};

/** The local files that were written, and what they must hold together, by store and day. */
export type Copied = {
  /** Segments of `work.out`. Those not listed have no record and no object, and are struck from the journal. */
  readonly files: readonly { readonly segment_id: string; readonly path: string }[];
  readonly days: readonly DayTriple[];
};

/** A segment that was read back from the store and holds what it should. `path` is the copy that was read. */
export type VerifiedSegment = NewSegment & { readonly path: string };

/** What differs by the kind of a move. States, objects, triples and fencing are the same for all, in run-move.ts. */
export type KindSteps = {
  /** planned → copied: writes the new segments as files in `work.dir`. It runs again after a restart. */
  copy(context: MoverContext, work: MoveWork): Promise<Copied>;
  /**
   * verified → switched: makes the changes inside the one transaction, mainly by `replaceSegments`: `work.in` leave the
   * catalogue and `segments` enter it. Returns the triples of what leaves for good. The caller queues the replaced
   * objects for removal afterwards.
   */
  switch(
    connection: Connection,
    switching: { context: MoverContext; work: MoveWork; segments: readonly VerifiedSegment[] },
  ): Promise<readonly DayTriple[]>;
  /** What the move lets go for good, of these days; only kinds that keep all records lack it. */
  gone?(move: Move, days: readonly DayTriple[]): Gone;
  /** switched → removed: what is left to do once no reader finds the source. It runs again after a kill. */
  cleanUp?(context: MoverContext, work: MoveWork): Promise<void>;
  /** Ends the switch. Throws a MoveFault when the locked policies no longer allow it; the caller checks legal holds. */
  refuse?(connection: Connection, move: Move, due: DueDays): void | Promise<void>;
};

/** How many tenants a process works on at once. Small moves wait for the disk and for PostgreSQL most of their time. */
export const tenantsAtOnce = 4;

/** Small moves read and write no more than this. */
const smallCount = 20_000;
const smallBytes = 4 * 1024 * 1024;

/** Whether a move of these records, given by days or segments, can go on beside others. */
export function isSmall(parts: readonly Omit<Triple, 'digest'>[]): boolean {
  const sum = (of: 'count' | 'bytes') => parts.reduce((total, part) => total + part[of], 0);
  return sum('count') <= smallCount && sum('bytes') <= smallBytes;
}

/** How many turns a move takes. Of one that another process began nobody knows how large it is. */
export function turnsOf(move: { readonly isSmall?: boolean }): number {
  return move.isSmall === true ? 1 : tenantsAtOnce;
}
