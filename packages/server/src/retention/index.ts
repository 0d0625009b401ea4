export { addAdoptRoute } from './adopt-orphan.ts';
export { retentionFigures } from './figures.ts';
export { giveBackSpace } from './give-back.ts';
export { deleteTenant } from './mover/delete-tenant.ts';
export { isOnHold, refuseHold } from './mover/erase-records.ts';
export { addEraseRoutes, createEraser, type Eraser, type EraserOptions } from './mover/eraser.ts';
export type { MoverContext } from './mover/move.ts';
export { moveTenant, type TenantMove, type TenantMoveOutcome } from './mover/move-tenant.ts';
export { listOverdueRemovals } from './mover/queries.ts';
export { removeObjects } from './mover/remove-objects.ts';
export { disownObjects } from './mover/run-move.ts';
export { createTurns, tenantsAtOnce } from './mover/turns.ts';
export type { RetentionOptions } from './options.ts';
export { type DueDays, findDueDays } from './policies/plan.ts';
export { readRetentionOverview } from './read-overview.ts';
export { addRetentionRoutes } from './routes.ts';
export type { DeleteOutcome, MoveOutcome, Movers, TenantJob } from './runs/do-run.ts';
export { pruneHistory } from './runs/moves.ts';
export {
  parseSchedule,
  type RunnerOptions,
  type Schedule,
  startRunner,
} from './runs/runner.ts';
export type { VerificationRow } from './schemas.contract.ts';
export { isKnownStore } from './store.ts';
export { type Recounted, recount } from './verify/recount.ts';
export { startVerifications } from './verify/run-verifications.ts';
export { findSampledDifferences } from './verify/sample-days.ts';
export { endOldUploads } from './verify/uploads.ts';
export { addVerifyRoutes, scheduleVerification, verifyNow } from './verify/verifications.ts';
