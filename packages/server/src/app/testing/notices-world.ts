import { Webhook } from 'standardwebhooks';
import { expect } from 'vitest';
import { answer, type Receiver, startReceiver } from '../../../test/receiver.ts';
import { startTestService, type TestService } from '../../../test/service.ts';
import { type Looking, startLooking } from './looking.ts';

/** The settings of all processes that tell notices. */
const noticesEnv = {
  SVC_ALLOW_TARGETS: '127.0.0.0/8',
  SVC_NOTIFY_DEAD_LETTERS: '3',
  SVC_ABANDONED_DAYS: '30',
  SVC_PUBLIC_URL: 'https://svcctl.example',
};

/** A target that was added, and what it was told. */
export type TestTarget = {
  readonly id: string;
  readonly secret: string;
  readonly path: string;
  readonly messages: () => Receiver['requests'];
  /** What was told, message by message; each signature is checked. */
  readonly told: () => string[][];
};

export type NoticesWorld = {
  readonly service: TestService;
  readonly receiver: Receiver;
  readonly process: Looking;
  /** Adds a target at a path of its own of the receiver. */
  add(more?: object): Promise<TestTarget>;
  /** Removes all that a test made. */
  clear(): Promise<void>;
  stop(): Promise<void>;
};

/** A service, a process beside it that looks when it is told to, and a receiver of what they tell. */
export async function startNoticesWorld(): Promise<NoticesWorld> {
  const receiver = await startReceiver();
  const service = await startTestService({ ...noticesEnv, SVC_ROLES: 'api', SVC_RATE_LIMIT: '0' });
  const process = await startLooking(service, noticesEnv);
  return {
    service,
    receiver,
    process,
    async add(more = {}) {
      const path = `/${Math.random().toString(36).slice(2)}`;
      const body = { kind: 'webhook', url: receiver.url(path), ...more };
      const made = await service.call('POST', '/notify/targets', { body });
      expect(made.status, made.text).toBe(201);
      const messages = () => receiver.requests.filter((request) => request.path === path);
      return {
        ...(made.json as { id: string; secret: string }),
        path,
        messages,
        told: () =>
          messages().map(({ body: text, headers }) => {
            new Webhook(made.json.secret).verify(text, headers);
            const { notices } = JSON.parse(text).data as { notices: Record<string, string>[] };
            return notices.map(({ telling, kind, subject }) =>
              `${telling} ${kind} ${subject}`.trim(),
            );
          }),
      };
    },
    async clear() {
      for (const table of ['notify_targets', 'notice_sends', 'notices', 'webhook_endpoints']) {
        await service.db.pool.query(`delete from ${table}`);
      }
      for (const table of [
        'dead_letter_counts',
        'dead_letter_jobs',
        'endpoint_hours',
        'deliveries',
      ])
        await service.db.pool.query(`delete from ${table}`);
      await service.db.pool.query('delete from exports');
      receiver.behave(() => answer(204));
    },
    async stop() {
      await process.stop();
      await service.stop();
      await receiver.close();
    },
  };
}
