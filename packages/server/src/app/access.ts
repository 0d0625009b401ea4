import {
  type AuditTarget,
  type SessionOptions,
  startAuditCopies,
  startSealing,
  toStore,
} from '../access/index.ts';
import type { Settings } from '../config/settings.ts';
import { openIdentityServer } from '../platform/identity-server.ts';
import { openObjectStore } from '../platform/objects/open-store.ts';
import { startLater, type Work } from '../platform/work/repeat.ts';
import { openShipping } from './audit-targets.ts';
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

/** The places that the audit log is copied and sent to, as people read them. */
export function auditCopiesOf({ auditCopyUrl, auditShipUrl }: Settings): string[] {
  return [auditCopyUrl, auditShipUrl].flatMap((url) =>
    url === undefined ? [] : [locationOf(url)],
  );
}

function locationOf(url: string): string {
  return url.replace(/\?.*/s, '').replace(/\/\/[^/]*@/, '//');
}

/** Copies the audit log to a store and a collector that settings name, in the role `api`. Throws `settings_invalid`. */
export function createAuditCopies({ settings, db, cold, log }: Host): Work[] {
  const { auditCopyUrl: store, auditShipUrl: collector, dataDir, roles } = settings;
  const ways: [string, () => Promise<AuditTarget>][] = [];
  if (store !== undefined) {
    const open = async () => toStore(await openObjectStore(store, dataDir), cold.spoolDir);
    ways.push([store, open]);
  }
  if (collector !== undefined) ways.push([collector, openShipping(collector, settings)]);
  return ways.map(([url, open]) =>
    startLater(roles.includes('api'), () => {
      const copies = startAuditCopies(db, { open, location: locationOf(url), log });
      copies.poke();
      return copies;
    }),
  );
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
