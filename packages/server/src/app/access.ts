import { type SessionOptions, startAuditCopies } from '../access/index.ts';
import type { Settings } from '../config/settings.ts';
import { openIdentityServer } from '../platform/identity-server.ts';
import { openObjectStore } from '../platform/objects/open-store.ts';
import { startLater, type Work } from '../platform/work/repeat.ts';
import type { Host } from './host.ts';

/** How people sign in, and how long they stay, as the settings say. */
export function signInOptions(settings: Settings): SessionOptions {
  return {
    publicUrl: settings.publicUrl,
    idleSeconds: settings.sessionIdleMinutes * 60,
    people: peopleOf(settings),
  };
}

function peopleOf(settings: Settings): SessionOptions['people'] {
  const { oidcIssuer: issuer, oidcClientId: clientId, oidcGroups: groups, publicUrl } = settings;
  if (issuer === undefined || clientId === undefined) return null;
  if (groups === undefined || publicUrl === undefined) return null;
  return {
    server: openIdentityServer({
      ...{ issuer, clientId, publicUrl },
      secret: settings.oidcClientSecret,
      secretFile: settings.oidcClientSecretFile,
      scopes: settings.oidcScopes,
    }),
    groups,
    groupsClaim: settings.oidcGroupsClaim,
    name: settings.oidcName,
    sessionSeconds: settings.oidcSessionMinutes * 60,
  };
}

/** The store to which the audit log is copied, as people read it; null: none. */
export function auditCopiesOf({ auditCopyUrl: url }: Settings): string | null {
  return url?.replace(/\?.*/s, '') ?? null;
}

/** Copies the audit log to the store that a setting names, in every process with the role `api`. */
export function createAuditCopies({ settings, db, cold, log }: Host): Work {
  const { auditCopyUrl: url = '', dataDir, roles } = settings;
  const location = auditCopiesOf(settings) ?? '';
  return startLater(url !== '' && roles.includes('api'), () => {
    const copies = startAuditCopies(db, {
      openStore: () => openObjectStore(url, dataDir),
      location,
      spoolDir: cold.spoolDir,
      log,
    });
    copies.poke();
    return copies;
  });
}
