import sql from 'sql-template-tag';
import type { TestService } from '../../../test/service.ts';
import { evaluate } from '../../checks/notices/evaluate.ts';
import { type SendOptions, sendDue } from '../../checks/notices/send.ts';
import { type Environment, loadSettings } from '../../config/settings.ts';
import { createLog } from '../../platform/log.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { seedEndpoint } from '../../webhooks/dead-letters/testing/seed.ts';
import { createSecretBox, findKeyring } from '../../webhooks/index.ts';
import { createNotices } from '../notices.ts';

/** A second process beside the service, which looks and sends when it is told to. The service does so by itself. */
export type Looking = {
  /** Looks at what is wrong, and sends what is due. */
  look(): Promise<void>;
  send(): Promise<void>;
  /** Lets time pass for all that is stored. */
  pass(seconds: number): Promise<void>;
  stop(): Promise<void>;
};

export async function startLooking(service: TestService, env: Environment): Promise<Looking> {
  const { db } = service;
  const settings = loadSettings({
    SVC_NOTIFY_DISK_PERCENT: '0',
    ...env,
    DATABASE_URL: db.url,
    SVC_DATA_DIR: service.dataDir,
  });
  const log = createLog('silent');
  const box = createSecretBox(await findKeyring(db, settings));
  const state = { cursorKey: null, secretBox: box, sealer: null, sealFault: null };
  const watch = { state: () => ({ state: 'own' as const, problem: null, marked: null }) };
  const notices = createNotices({ settings, log, db, state, cold: { watch, store: {} } });
  const options: SendOptions = {
    channel: notices.channel,
    open: (sealed, id) => box.open(sealed, id),
    timeoutSeconds: 15,
    log,
  };
  const signal = new AbortController().signal;
  const send = () => sendDue(db, options, signal);
  return {
    send,
    async look() {
      // The service may be looking at this moment.
      while (!(await evaluate(db, { find: notices.find, historyDays: 400 })));
      await send();
    },
    async pass(seconds) {
      const earlier = (column: string) =>
        `${column} = ${column} - make_interval(secs => ${seconds})`;
      const change = (table: string, columns: string[]) =>
        db.pool.query(`update ${table} set ${columns.map(earlier).join(', ')}`);
      await change('notices', ['since', 'created_at', 'told_at', 'missing_since', 'ended_at']);
      await change('notice_sends', ['next_attempt_at', 'finished_at']);
      await change('webhook_endpoints', ['failing_since']);
    },
    stop: () => notices.stop(),
  };
}

/** Makes an endpoint that has failed for so long, and returns its id. */
export async function failFor(db: Queryable, seconds: number): Promise<string> {
  const { id } = await seedEndpoint(db, { tenant: 'TX' });
  await db.query(sql`
    update webhook_endpoints set failures_in_row = 3,
      failing_since = now() - make_interval(secs => ${seconds}) where id = ${id}`);
  return id;
}

export async function recover(db: Queryable, id: string): Promise<void> {
  await db.query(sql`
    update webhook_endpoints set failures_in_row = 0, failing_since = null where id = ${id}`);
}
