import { type SessionOptions, startAuditCopies, startSealing } from '../access/index.ts';
import type { Settings } from '../config/settings.ts';
import { openIdentityServer } from '../platform/identity-server.ts';
import { openObjectStore } from '../platform/objects/open-store.ts';
import { startLater, type Work } from '../platform/work/repeat.ts';
import { type Host, sealerIn } from './host.ts';

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

/** The stores to which the audit log is copied, as people read them. */
export function auditCopiesOf({ auditCopyUrl }: Settings): string[] {
  return [auditCopyUrl].flatMap((url) => (url === undefined ? [] : [locationOf(url)]));
}

function locationOf(url: string): string {
  return url.replace(/\?.*/s, '');
}

/** Copies the audit log to the store that a setting names, in every process with the role `api`. */
export function createAuditCopies({ settings, db, cold, log }: Host): Work {
  const { auditCopyUrl: url = '', dataDir, roles } = settings;
  const location = locationOf(url);
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

/** Seals the audit log, in every process with the role `api`. */
export function createSealing(host: Host): Work {
  const { settings, db, log, state } = host;
  return startLater(settings.roles.includes('api'), () => {
    const seals = startSealing(db, {
      sealer: () => sealerIn(host),
      log,
      everyMillis: settings.waits.sealMillis,
      onFault: (fault) => {
        state.sealFault = fault;
      },
    });
    seals.poke();
    return seals;
  });
}
