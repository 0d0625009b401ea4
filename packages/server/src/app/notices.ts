import { auditLocally, readAuditHead } from '../access/index.ts';
import {
  addNoticeRoutes,
  type Channel,
  createEmailChannel,
  type Find,
  type Found,
  findForNotices,
  isHeadAwaited,
  startNotices,
  toWebhookBody,
} from '../checks/index.ts';
import { listEndedExports } from '../exports/index.ts';
import { once } from '../kernel/once.ts';
import type { HttpServer } from '../platform/http/server.ts';
import type { Database } from '../platform/postgres/database.ts';
import { startLater, type Work } from '../platform/work/repeat.ts';
import {
  countTroubles,
  createSender,
  createTarget,
  disableFailingEndpoints,
  listFailingEndpoints,
  newSecret,
  purgeOld,
  readWallSeconds,
  type Sender,
  secretBytes,
  signatureHeaders,
} from '../webhooks/index.ts';
import { type Host, routeTools, secretBox } from './host.ts';
import { type Looker, lookAround, purgingOf } from './look.ts';

/** Notices to people. They are looked for and sent by every process with the role `api`. */
export type Notices = Work & { readonly channel: Channel; readonly find: Find };

type NoticesHost = Looker & Pick<Host, 'log' | 'db' | 'state'>;

export function createNotices(host: NoticesHost): Notices {
  const { settings, log, db } = host;
  const { webhookTimeoutSeconds: timeoutSeconds, historyDays } = settings;
  const sender = createSender({
    timeoutMillis: timeoutSeconds * 1000,
    allowTargets: settings.allowTargets,
    proxy: settings.webhookProxy,
  });
  const stopping = new AbortController();
  const origin = settings.publicUrl ?? null;
  const channels = {
    webhook: createWebhookChannel(db, sender, origin),
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
  const work = startLater(settings.roles.includes('api'), () => {
    const open = (sealed: Buffer, id: string) => secretBox(host).open(sealed, id);
    const notices = startNotices(db, { find, historyDays, channel, open, timeoutSeconds, log });
    notices.poke();
    return notices;
  });
  return {
    ...work,
    channel,
    find,
    async stop() {
      // What is cut is sent again by whoever takes it next.
      stopping.abort();
      sender.cut();
      await work.stop();
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
    ...routeTools(host),
  });
}

/** Sends notices as endpoints get theirs: to the same addresses only, signed in the same way. */
function createWebhookChannel(db: Database, sender: Sender, origin: string | null): Channel {
  return async ({ address, secret }, message) => {
    if (secret === null) throw new Error('a webhook has no secret');
    const body = toWebhookBody(message, origin);
    const headers = signatureHeaders({
      id: message.id,
      timestampSeconds: await readWallSeconds(db),
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
    async act(db, announced) {
      const of = (kind: Found['kind']) => announced.filter((each) => each.kind === kind);
      const failing = of('endpoints_disabling').map(({ subject }) => subject);
      for (const after of await disableFailingEndpoints(db, failing)) {
        const { id, tenant } = after;
        await auditLocally(db, 'svcctl', { action: 'endpoint.disable', target: id, tenant, after });
      }
      if (of('dead_letters_expiring').length === 0) return;
      await purgeOld(db, { ...purgingOf(looker.settings), audit: auditLocally });
    },
    async events(db, since) {
      const ended = await listEndedExports(db, since);
      const head = (await isHeadAwaited(db)) ? [describeAuditHead(await readAuditHead(db))] : [];
      return [...ended.map(describeExport), ...head];
    },
  };
}

const ofEvent = { ref: '', holdSeconds: 0, isRepeated: false } as const;

/** The end of an export job in words. */
function describeExport(job: Awaited<ReturnType<typeof listEndedExports>>[number]): Found {
  const { id, tenant, state, file_name: name, finished_at: since, error } = job;
  const isDone = state === 'completed';
  return {
    ...ofEvent,
    subject: id,
    tenant,
    since,
    place: `#/exports?panel=export/${id}`,
    kind: isDone ? 'export_done' : 'export_failed',
    severity: isDone ? 'info' : 'warning',
    title: `The export ${name} of ${tenant} ${isDone ? 'is done' : 'failed'}`,
    advice: isDone
      ? `Fetch it: svcctl exports get ${id}.`
      : `${error ?? 'See why'}: svcctl exports show ${id}.`,
  };
}

/** How far the audit log is, in words: whoever keeps the message can prove later that nothing before it was changed. */
function describeAuditHead(head: string): Found {
  return {
    ...ofEvent,
    kind: 'audit_head',
    severity: 'info',
    subject: head,
    tenant: null,
    since: null,
    title: `The audit log ends at ${head}`,
    advice: `Keep this message. That nothing before it has changed since is proved by: svcctl audit verify --head ${head}.`,
    place: '#/access?view=audit',
  };
}
