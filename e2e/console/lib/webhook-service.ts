import { expect } from 'vitest';
import { answer, startReceiver } from '../../../packages/server/test/receiver.ts';
import {
  type Beginning,
  createInstallation,
  type Environment,
  type Installation,
  type Service,
} from '../../lib/installation.ts';
import { waitFor } from '../../lib/wait-for.ts';

/** A receiver of webhooks that answers what it is told to. */
export type Receiver = {
  readonly url: string;
  /** The status of every answer from now on. */
  answer(status: number): void;
  /** Bodies of the requests to a path, in their order. */
  bodiesOf(path: string): readonly string[];
};

/** A service whose dead-letter queue has entries, and the receiver that refused them. */
export type WebhookService = {
  readonly installation: Installation;
  readonly service: Service;
  readonly receiver: Receiver;
  /** Ids of the endpoints, by the path of their URL. */
  readonly endpoints: Readonly<Record<string, string>>;
  remove(): Promise<void>;
};

/** A retry schedule whose first delay is a week, so that nothing is tried again during a test. */
const muchLater = [604_800];

/** The endpoints that are registered, and how many incidents are reported to each tenant. */
const seeds = [
  { tenant: 'acme', path: '/acme/in', settings: { max_attempts: 1 }, incidents: 15 },
  { tenant: 'globex', path: '/globex/in', settings: { max_attempts: 1 }, incidents: 15 },
  { tenant: 'TX', path: '/tx/in', settings: { retry_schedule: muchLater }, incidents: 12 },
];

export const abandonedCount = 30;
export const pendingCount = 12;

type Options = { isEmpty?: boolean; env?: Environment; begin?: Beginning };

/** With `isEmpty` the service has endpoints, but nothing in its dead-letter queue. */
export async function startWebhookService({
  isEmpty = false,
  env = {},
  begin = 'database',
}: Options = {}): Promise<WebhookService> {
  const installation = await createInstallation(begin);
  const { receiver, close } = await startRefusing();
  const remove = async () => {
    await installation.remove();
    await close();
  };
  try {
    const service = await installation.start({ SVC_ALLOW_TARGETS: '127.0.0.0/8', ...env });
    const endpoints: Record<string, string> = {};
    for (const { tenant, path, settings } of seeds) {
      const body = { tenant, url: `${receiver.url}${path}`, ...settings };
      const answer = await service.call('POST', '/webhook/endpoints', { body });
      expect(answer.status, answer.text).toBe(201);
      endpoints[path] = answer.json.id;
    }
    if (!isEmpty) {
      await Promise.all(seeds.map((seed) => reportIncidents(service, seed.tenant, seed.incidents)));
      await waitForCounts(service, abandonedCount, pendingCount);
    }
    return { installation, service, receiver, endpoints, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Reports this many incidents, which differ in a number. */
export async function reportIncidents(
  service: Service,
  tenant: string,
  count: number,
): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    const body = { tenant, type: 'incident.created', data: { n, score: 0.5, host: `web-${n}` } };
    const answer = await service.call('POST', '/incidents', { body });
    expect(answer.status, answer.text).toBe(202);
  }
}

/** Waits until the dead-letter queue holds exactly these numbers of deliveries. */
export async function waitForCounts(
  service: Service,
  abandoned: number,
  pending: number,
): Promise<void> {
  await waitFor(`${abandoned} abandoned and ${pending} pending deliveries`, async () => {
    const totals = await Promise.all(
      ['abandoned', 'pending'].map(async (status) => {
        const answer = await service.call('GET', `/webhook/dlq?status=${status}&limit=1`);
        return answer.json.total as number;
      }),
    );
    return totals[0] === abandoned && totals[1] === pending;
  });
}

/** A receiver that refuses everything until it is told otherwise. */
async function startRefusing(): Promise<{ receiver: Receiver; close: () => Promise<void> }> {
  const saying = (status: number) => () =>
    answer(status, { body: JSON.stringify({ said: status }) });
  const hook = await startReceiver({ behave: saying(503) });
  const receiver: Receiver = {
    url: hook.url(''),
    answer: (status) => hook.behave(saying(status)),
    bodiesOf: (path) => hook.requests.filter((each) => each.path === path).map(({ body }) => body),
  };
  return { receiver, close: () => hook.close() };
}
