import { auditLocally, createAudit, readAuditHead } from '../access/index.ts';
import { isBackupOverdue } from '../backup/index.ts';
import type { Settings } from '../config/settings.ts';
import { listEndedExports, listOpenExports } from '../exports/index.ts';
import { listFullDisks } from '../health/index.ts';
import { systemClock } from '../kernel/clock.ts';
import {
  addNoticeRoutes,
  type Channel,
  createEmailChannel,
  describeAuditHead,
  describeEvent,
  describeTrouble,
  describeTroubleOf,
  type Find,
  type Found,
  isHeadAwaited,
  listUnreached,
  startNotices,
  toWebhookBody,
} from '../notices/index.ts';
import { findTroubles } from '../overview/find-troubles.ts';
import type { HttpServer } from '../platform/http/server.ts';
import type { StoreWatch } from '../platform/objects/store-watch.ts';
import type { Queryable } from '../platform/postgres/database.ts';
import type { Repeated, Work } from '../platform/work/repeat.ts';
import { readRetentionOverview } from '../retention/index.ts';
import {
  createSender,
  createTarget,
  disableFailingEndpoints,
  findTroubles as findWebhookTroubles,
  newSecret,
  type Sender,
  secretBytes,
  signatureHeaders,
} from '../webhooks/index.ts';
import { cursorKey, type Host, secretBox } from './host.ts';
import { countOverdue, isStoreUnusable } from './overview.ts';

/** Notices to people. They are looked for and sent by every process with the role `api`. */
export type Notices = Work & { readonly channel: Channel; readonly find: Find };

type NoticesHost = Pick<Host, 'settings' | 'log' | 'db' | 'state'> & {
  readonly cold: { readonly watch: Pick<StoreWatch, 'state'> };
};

export function createNotices(host: NoticesHost): Notices {
  const { settings, log, db } = host;
  const { webhookTimeoutSeconds: timeoutSeconds, historyDays } = settings;
  const sender = createSender({
    timeoutMillis: timeoutSeconds * 1000,
    allowTargets: settings.allowTargets,
  });
  const stopping = new AbortController();
  const origin = settings.publicUrl ?? null;
  const channels = {
    webhook: createWebhookChannel(sender, origin),
    email: createEmailChannel({
      smtpUrl: settings.smtpUrl,
      from: settings.smtpFrom,
      timeoutMillis: timeoutSeconds * 1000,
      origin,
      signal: stopping.signal,
    }),
  };
  const channel: Channel = (to, message) => channels[to.kind](to, message);
  const find = createFind(host);
  let notices: Repeated | undefined;
  return {
    channel,
    find,
    start() {
      if (!settings.roles.includes('api')) return;
      const open = (sealed: Buffer, id: string) => secretBox(host).open(sealed, id);
      notices = startNotices(db, { find, historyDays, channel, open, timeoutSeconds, log });
      notices.poke();
    },
    poke: () => notices?.poke(),
    async stop() {
      // What is cut is sent again by whoever takes it next.
      stopping.abort();
      sender.cut();
      await notices?.stop();
      await sender.close();
    },
  };
}

/** Adds the routes of notices: who is told, and what was told. */
export function addNotices(http: HttpServer, host: Host, notices: Notices): void {
  const { settings, db } = host;
  const target = createTarget({ allowTargets: settings.allowTargets });
  addNoticeRoutes(http, db, {
    channel: notices.channel,
    assertAllowed: (url) => target.assertAllowed(url, { tenants: null }),
    hasEmail: settings.smtpUrl !== undefined && settings.smtpFrom !== undefined,
    newSecret,
    seal: (secret, id) => secretBox(host).seal(secret, id),
    open: (sealed, id) => secretBox(host).open(sealed, id),
    audit: createAudit(),
    cursorKey: () => cursorKey(host),
  });
}

/** Sends notices as endpoints get theirs: to the same addresses only, signed in the same way. */
function createWebhookChannel(sender: Sender, origin: string | null): Channel {
  return async ({ address, secret }, message) => {
    if (secret === null) throw new Error('a webhook has no secret');
    const body = toWebhookBody(message, origin);
    const headers = signatureHeaders({
      id: message.id,
      timestampSeconds: Math.floor(systemClock() / 1000),
      body,
      secrets: [secretBytes(secret)],
    });
    return sender.send({ url: address, body, headers });
  };
}

/** Looks at what each feature knows of itself. What is wrong is decided where OVERVIEW does. */
function createFind({ settings, cold: { watch } }: NoticesHost): Find {
  return {
    async troubles(db) {
      const { retention, work } = await readRetentionOverview(db, null);
      const exports = await listOpenExports(db, null);
      const { abandoned, endpoints } = await findWebhookTroubles(db);
      const isMuch = abandoned >= settings.notifyDeadLetters;
      const single = findTroubles({
        retention,
        // Endpoints and targets are told of one by one.
        webhooks: { abandoned: isMuch ? abandoned : 0, failing: 0, gone: 0, disabled: 0, held: 0 },
        unreached: 0,
        isBackupOverdue: await isBackupOverdue(db, settings.backupMaxAgeHours),
        isStoreUnusable: isStoreUnusable(watch),
        overdueRemovals: await countOverdue(db, watch, null),
        work: [...work, ...exports],
      });
      return [
        ...single.map(describeTrouble),
        ...endpoints.map(({ state, url, ...endpoint }) =>
          describeTroubleOf(`endpoints_${state}`, { ...endpoint, name: new URL(url).host }),
        ),
        ...(await findFullDisks(db, settings)),
        ...(await findUnreached(db)),
      ];
    },
    async disable(db, endpointIds) {
      for (const after of await disableFailingEndpoints(db, endpointIds)) {
        const { id, tenant } = after;
        await auditLocally(db, 'svcctl', { action: 'endpoint.disable', target: id, tenant, after });
      }
    },
    async events(db, since) {
      const ended = await listEndedExports(db, since);
      const head = (await isHeadAwaited(db)) ? [describeAuditHead(await readAuditHead(db))] : [];
      const jobs = ended.map(({ state, file_name, finished_at, error, ...job }) =>
        describeEvent(state === 'completed' ? 'export_done' : 'export_failed', {
          ...{ ...job, name: file_name, since: finished_at, reason: error },
        }),
      );
      return [...jobs, ...head];
    },
  };
}

async function findUnreached(db: Queryable): Promise<Found[]> {
  const targets = await listUnreached(db);
  return targets.map(({ id, kind, address, since }) => {
    // What follows the host may be a secret.
    const name = kind === 'webhook' ? new URL(address).host : address;
    return describeTroubleOf('notices_undelivered', { id, tenant: null, name, since });
  });
}

async function findFullDisks(
  db: Queryable,
  { notifyDiskPercent }: Pick<Settings, 'notifyDiskPercent'>,
): Promise<Found[]> {
  const disks = await listFullDisks(db, notifyDiskPercent);
  return disks.map(({ host, free_percent }) =>
    describeTroubleOf('disk_nearly_full', {
      ...{ id: host, tenant: null, name: `${free_percent} %`, since: null },
    }),
  );
}
