export { listWaitingApprovals } from './approval-queries.ts';
export { createApprove, endApprovals } from './approvals.ts';
export { auditLocally, createAudit, pruneAudit } from './audit.ts';
export { listLargeExports, readAuditHead } from './audit-queries.ts';
export { accessContract, type NewToken } from './contract.ts';
export type { Credentials } from './cookies.ts';
export {
  type AuditTarget,
  copiedName,
  startAuditCopies,
  toLines,
  toStore,
} from './copy-audit.ts';
export { type FailingCopy, findFailingCopy } from './copy-queries.ts';
export { accessFigures } from './figures.ts';
export { createRateLimit, createSignInGuard } from './limits.ts';
export { createReadNotes } from './note-reads.ts';
export { findOrMakeSigningKey, listUnusedTokens } from './queries.ts';
export { addAccessRoutes } from './routes.ts';
export { resealAuditLog, type Sealer, sealAuditLog, startSealing } from './seal-audit.ts';
export {
  actorOfToken,
  createAuthenticate,
  createSignInCode,
  type SessionOptions,
  tellAddressRefusals,
} from './sessions.ts';
export { createToken, describeToken, makeFirstAdminToken } from './tokens.ts';
