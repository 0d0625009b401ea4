import type { Log } from '../../platform/log.ts';
import type { StoreFence } from '../../platform/objects/fence.ts';
import type { ObjectStore } from '../../platform/objects/objects.ts';
import type { DuckDb } from '../../platform/parquet/duckdb.ts';
import type { Connection, Database } from '../../platform/postgres/database.ts';
import type { Gone, GoneEffects } from '../../records/index.ts';
import type { MoveState } from '../contract.ts';
import type { Move } from './move.ts';

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
