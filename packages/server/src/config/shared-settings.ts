import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Role, type Settings, settingRows } from './settings.ts';

/**
 * The settings on which all processes of one database should agree, with the roles that heed them: two processes that
 * do not agree would do the same work in two ways, whichever comes first. None of them is secret.
 */
const sharedSettings = {
  publicUrl: ['api'],
  blobUrl: ['api', 'retention', 'exports'],
  allowTargets: ['api', 'drainer'],
  rateLimit: ['api'],
  tenantRateLimit: ['api'],
  notifyDeadLetters: ['api'],
  notifyDiskPercent: ['api'],
  backupMaxAgeHours: ['api'],
  smtpFrom: ['api'],
  deliveryDays: ['api', 'drainer'],
  incidentDays: ['drainer'],
  historyDays: ['drainer', 'retention'],
  auditDays: ['retention'],
  ingestMaxRecords: ['api'],
  ingestMaxBytes: ['api'],
  enrichmentMaxBytes: ['api'],
  coldGraceSeconds: ['api', 'retention'],
  retentionSchedule: ['retention'],
  verifyDays: ['retention'],
  exportJobsPerTenant: ['exports'],
  exportDays: ['exports'],
  webhookMaxAttempts: ['api'],
  webhookTimeoutSeconds: ['drainer'],
  webhookMaxBytes: ['api'],
} as const satisfies Partial<Record<keyof Settings, readonly Role[]>>;

/** Returns the shared settings that a process heeds, by the names of their variables, as text to be compared. */
export function sharedSettingsOf(settings: Settings): Record<string, string> {
  const values: Record<string, string> = {};
  for (const [name, roles] of Object.entries(sharedSettings)) {
    if (!settings.roles.some((role) => (roles as readonly Role[]).includes(role))) continue;
    const shared = name as keyof typeof sharedSettings;
    values[settingRows[shared].env] = textOf(settings, shared);
  }
  return values;
}

function textOf(settings: Settings, name: keyof typeof sharedSettings): string {
  // Where it is unset, it follows from another setting.
  if (name === 'blobUrl' && settings.blobUrl === undefined) {
    return pathToFileURL(join(settings.dataDir, 'cold')).href;
  }
  const value: string | number | readonly string[] = settings[name] ?? '';
  return typeof value === 'object' ? value.toSorted().join(',') : String(value);
}
