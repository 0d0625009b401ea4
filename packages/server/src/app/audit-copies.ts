import { startAuditCopies } from '../access/index.ts';
import { openObjectStore } from '../platform/objects/open-store.ts';
import { startLater, type Work } from '../platform/work/repeat.ts';
import type { Host } from './host.ts';

/** Copies the audit log to the store that a setting names, in every process with the role `api`. */
export function createAuditCopies({ settings, db, cold, log }: Host): Work {
  const { auditCopyUrl: url, dataDir, roles } = settings;
  return startLater(() => {
    if (url === undefined || !roles.includes('api')) return undefined;
    const copies = startAuditCopies(db, {
      openStore: () => openObjectStore(url, dataDir),
      location: url.replace(/\?.*/s, ''),
      spoolDir: cold.spoolDir,
      log,
    });
    copies.poke();
    return copies;
  });
}
