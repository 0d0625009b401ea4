import { auditLocally, createAudit, readAuditHead } from '../access/index.ts';
import {
  addNoticeRoutes,
  type Channel,
  createEmailChannel,
  describeAuditHead,
  describeExport,
  type Find,
  findForNotices,
  isHeadAwaited,
  once,
  startNotices,
  toWebhookBody,
} from '../checks/index.ts';
import { listEndedExports } from '../exports/index.ts';
import { systemClock } from '../kernel/clock.ts';
import type { HttpServer } from '../platform/http/server.ts';
import type { Repeated, Work } from '../platform/work/repeat.ts';
import {
  countTroubles,
  createSender,
  createTarget,
  disableFailingEndpoints,
  listFailingEndpoints,
  newSecret,
  type Sender,
  secretBytes,
  signatureHeaders,
} from '../webhooks/index.ts';
import { cursorKey, type Host, secretBox } from './host.ts';
import { type Looker, lookAround } from './look.ts';

/** Notices to people. They are looked for and sent by every process with the role `api`. */
export type Notices = Work & { readonly channel: Channel; readonly find: Find };

type NoticesHost = Looker & Pick<Host, 'log' | 'db' | 'state'>;

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

/** Looks at what each feature knows of itself: at endpoints one by one, and at dead letters from a number on. */
function createFind(looker: Looker): Find {
  const { notifyDeadLetters } = looker.settings;
  return {
    troubles: (db) =>
      findForNotices({
        ...lookAround(db, looker),
        webhooks: once(async () => {
          const { abandoned } = await countTroubles(db, null);
          const isMuch = abandoned >= notifyDeadLetters;
          const named = await listFailingEndpoints(db);
          return { abandoned: isMuch ? abandoned : 0, endpoints: {}, named };
        }),
      }),
    async disable(db, endpointIds) {
      for (const after of await disableFailingEndpoints(db, endpointIds)) {
        const { id, tenant } = after;
        await auditLocally(db, 'svcctl', { action: 'endpoint.disable', target: id, tenant, after });
      }
    },
    async events(db, since) {
      const ended = await listEndedExports(db, since);
      const head = (await isHeadAwaited(db)) ? [describeAuditHead(await readAuditHead(db))] : [];
      return [...ended.map(describeExport), ...head];
    },
  };
}
