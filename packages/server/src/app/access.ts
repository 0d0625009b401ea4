import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import {
  type AuditTarget,
  copiedName,
  type SessionOptions,
  startAuditCopies,
  startSealing,
  toStore,
} from '../access/index.ts';
import type { Settings } from '../config/settings.ts';
import { AppError } from '../kernel/errors.ts';
import { sideBySide } from '../kernel/side-by-side.ts';
import { openIdentityServer } from '../platform/identity-server.ts';
import { createFileStore } from '../platform/objects/file-system.ts';
import type { ObjectStore } from '../platform/objects/objects.ts';
import { openObjectStore } from '../platform/objects/open-store.ts';
import { startLater, type Work } from '../platform/work/repeat.ts';
import { readWallSeconds } from '../webhooks/index.ts';
import { openShipping } from './audit-targets.ts';
import { type Host, sealerIn } from './host.ts';

/** How people sign in, and how long they stay, as the settings say. */
export function signInOptions(settings: Settings): SessionOptions {
  return {
    publicUrl: settings.publicUrl,
    idleSeconds: settings.sessionIdleMinutes * 60,
    vouchDays: settings.personVouchDays,
    people: peopleOf(settings),
  };
}

function peopleOf(settings: Settings): SessionOptions['people'] {
  const { oidcIssuer: issuer, oidcClientId: clientId, oidcGroups: groups, publicUrl } = settings;
  if (issuer === undefined || clientId === undefined) return null;
  if (groups === undefined || publicUrl === undefined) return null;
  return {
    server: openIdentityServer({
      issuer,
      clientId,
      publicUrl,
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
  if (collector !== undefined) {
    const shipping = { ...settings, readSeconds: () => readWallSeconds(db) };
    ways.push([collector, openShipping(collector, shipping)]);
  }
  return ways.map(([url, open]) =>
    startLater(roles.includes('api'), () => {
      const copies = startAuditCopies(db, {
        open,
        location: locationOf(url),
        log,
        everyMillis: settings.waits.copyMillis,
      });
      copies.poke();
      return copies;
    }),
  );
}

const fetchedAtOnce = 16;

/**
 * Gives the objects that SVC_AUDIT_COPY_URL has made, in the order of their entries, as files of this machine: those of a
 * folder, or of `s3://bucket/prefix`, or of a day below it. Throws `usage_invalid` where the place cannot be one.
 */
export async function* readAuditCopy(
  place: string,
  { cwd, signal }: { cwd: string; signal: AbortSignal },
): AsyncGenerator<{ name: string; path: string }> {
  const store = await openCopy(place, cwd);
  const dir = await mkdtemp(join(tmpdir(), 'svcctl-audit-'));
  try {
    const below = await listCopies(store, 'audit/', signal);
    const keys = below.length > 0 ? below : await listCopies(store, '', signal);
    for (let from = 0; from < keys.length; from += fetchedAtOnce) {
      const some = keys.slice(from, from + fetchedAtOnce);
      yield* await sideBySide(some, { atOnce: fetchedAtOnce, signal }, async (key, own) => {
        const name = `${store.location}/${key}`;
        const there = store.pathOf(key);
        if (there !== null) return { name, path: there };
        const path = join(dir, String(some.indexOf(key)));
        await store.get(key, path, own);
        return { name, path };
      });
    }
  } finally {
    await store.close();
    await rm(dir, { recursive: true, force: true });
  }
}

async function listCopies(
  store: ObjectStore,
  prefix: string,
  signal: AbortSignal,
): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list(prefix, signal)) if (copiedName.test(key)) keys.push(key);
  return keys.sort();
}

async function openCopy(place: string, cwd: string): Promise<ObjectStore> {
  if (!/^[a-z0-9]+:\/\//i.test(place)) return createFileStore(resolve(cwd, place));
  try {
    return await openObjectStore(place, cwd);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'settings_invalid') throw error;
    const detail = error.detail.replace('SVC_BLOB_URL', 'The place of the copy');
    throw new AppError('usage_invalid', { detail, cause: error });
  }
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
