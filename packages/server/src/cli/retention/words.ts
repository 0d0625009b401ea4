import type { MoveKind, MoveState } from '../../retention/contract.ts';

// The contract's lists once more: loading the contract would cost the command line its quick start.

export const moveKinds = [
  'move',
  'compact',
  'delete',
  'erase',
] as const satisfies readonly MoveKind[];

export const moveStates = [
  'planned',
  'copied',
  'verified',
  'switched',
  'removed',
  'failed',
] as const satisfies readonly MoveState[];
