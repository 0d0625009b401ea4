import { Webhook } from 'standardwebhooks';
import { afterEach, expect } from 'vitest';
import { answer, type Receiver, useReceiver } from '../../../test/receiver.ts';
import { useTestService } from '../../../test/service.ts';
import { use } from '../../../test/use.ts';
import { type Looking, startLooking } from './looking.ts';

/** The settings of all processes that tell notices. */
const noticesEnv = {
  SVC_ALLOW_TARGETS: '127.0.0.0/8',
  SVC_NOTIFY_DEAD_LETTERS: '3',
  SVC_ABANDONED_DAYS: '30',
  SVC_PUBLIC_URL: 'https://svcctl.example',
};

/** A target that was added, and what it was told. */
type TestTarget = {
  readonly id: string;
  readonly secret: string;
  readonly path: string;
  readonly messages: () => Receiver['requests'];
  /** What was told, message by message; each signature is checked. */
  readonly told: () => string[][];
};

/**
 * For all tests of a file a service, a process beside it that looks when it is told to, and a receiver of what they
 * tell. What a test made is removed after it.
 */
export function useNoticesWorld() {
  const receiver = useReceiver();
  const service = useTestService({ ...noticesEnv, SVC_ROLES: 'api', SVC_RATE_LIMIT: '0' });
  const process: Looking = use(
    () => startLooking(service, noticesEnv),
    (made) => made.stop(),
  );
  afterEach(async () => {
    const tables = ['notify_targets', 'notice_sends', 'notices', 'webhook_endpoints', 'exports'];
    const counted = ['dead_letter_counts', 'dead_letter_jobs', 'endpoint_hours', 'deliveries'];
    for (const table of [...tables, ...counted]) {
      await service.db.pool.query(`delete from ${table}`);
    }
    receiver.behave(() => answer(204));
  });
  /** Adds a target at a path of its own of the receiver. */
  const add = async (more: object = {}): Promise<TestTarget> => {
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
  };
  return { service, receiver, process, add };
}
