import type { MoveKind, MoveState } from '../contract.ts';

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
