import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  answer,
  type Behaviour,
  type Receiver,
  startReceiver,
} from '../../packages/server/test/receiver.ts';
import { type Service, useInstallation } from '../lib/installation.ts';
import { query } from '../lib/postgres.ts';
import { waitFor } from '../lib/wait-for.ts';
import {
  addEndpoint,
  countRequests,
  createGate,
  report,
  untilDelivery,
  webhookSettings,
} from '../lib/webhooks.ts';

const installation = useInstallation();
let service: Service;
let drainer: Service;
let url: string;
const receivers: Receiver[] = [];

beforeAll(async () => {
  service = await installation.start({ ...webhookSettings, SVC_ROLES: 'api' });
  drainer = await startDrainer();
  url = await installation.postgresUrl();
});
afterAll(async () => {
  for (const receiver of receivers) await receiver.close();
});

/** Its own tenant for each test, so that none gets the incidents of another. */
test('a full database refuses incidents; those acknowledged before are delivered once', async () => {
  const gate = createGate();
  const receiver = await openReceiver(() => gate.behaviour);
  await addEndpoint(service, receiver.url(), { tenant: 'FULL' });
  const accepted = await report(service, 5, { tenant: 'FULL' });
  await receiver.waitFor(5);
  await query(url, diskFull);
  try {
    const body = { tenant: 'FULL', type: 'incident.created', data: {} };
    const refused = await service.call('POST', '/incidents', { body });
    expect(refused.json, refused.text).toMatchObject({ status: 503, code: 'database_full' });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    gate.open();
    await waitFor('outcomes that cannot be written', () =>
      drainer.output().includes('outcomes of deliveries could not be written'),
    );
    expect((await service.probe('/readyz')).status).toBe(200);
  } finally {
    await query(url, 'drop trigger disk_full on deliveries');
  }

  for (const { id } of accepted) await untilDelivery(service, id, 'delivered');
  const [after] = await report(service, 1, { tenant: 'FULL' });
  await untilDelivery(service, after?.id ?? '', 'delivered');
  expect(receiver.requests).toHaveLength(6);
  const [stored] = await query(
    url,
    `select count(*)::int as count from incidents where tenant = 'FULL'`,
  );
  expect(stored).toEqual({ count: 6 });
});

test.each([
  ['ahead', 2],
  ['behind', -2],
])(
  'a clock two hours %s sends nothing early, and all that is due, signed at the right time',
  async (_name, hours) => {
    const tenant = `CLOCK${hours}`;
    const receiver = await openReceiver(({ number }) => answer(number === 1 ? 500 : 204));
    await addEndpoint(service, receiver.url(), { tenant, retry_schedule: [3600] });
    const [accepted] = await report(service, 1, { tenant });
    await untilDelivery(service, accepted?.id ?? '', 'pending');
    await drainer.stop();
    drainer = await startDrainer({ NODE_OPTIONS: `--import=${shiftedClock(hours)}` });
    const { headers } = await expectFence();
    const [{ ahead } = { ahead: null }] = await query(
      url,
      `select round(clock_ahead_millis / 3600000.0)::int as ahead from processes where pid = $1`,
      [drainer.pid],
    );
    expect(ahead).toBe(hours);
    // What is signed says the time of the database: receivers refuse another.
    const signedAhead = Number(headers['webhook-timestamp']) - Date.now() / 1000;
    expect(Math.abs(signedAhead)).toBeLessThan(300);
    expect(receiver.requests).toHaveLength(1);

    await query(url, `update deliveries set next_attempt_at = now() where id = $1`, [accepted?.id]);
    await untilDelivery(service, accepted?.id ?? '', 'delivered');
    expect(countRequests(receiver.requests)).toEqual(new Map([[accepted?.idempotency_key, 2]]));
  },
);

/** Before space runs out, PostgreSQL says so in the same way. */
const diskFull = `
  create or replace function refuse_disk_full() returns trigger language plpgsql as
    $$ begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$;
  create trigger disk_full before insert or update on deliveries
    for each row execute function refuse_disk_full()`;

/** A delivery made now arrives: the drainer has looked at all that was due before. */
async function expectFence() {
  const receiver = await openReceiver();
  const tenant = `FENCE-${receiver.port}`;
  await addEndpoint(service, receiver.url(), { tenant });
  const [accepted] = await report(service, 1, { tenant });
  await untilDelivery(service, accepted?.id ?? '', 'delivered');
  const [request] = receiver.requests;
  if (request === undefined) throw new Error('delivered, but nothing came');
  return request;
}

/** A module that moves the wall clock of the process that loads it. */
function shiftedClock(hours: number): string {
  const source = `
    const shift = ${hours * 3_600_000};
    const now = Date.now;
    Date.now = () => now() + shift;
    globalThis.Date = class extends Date {
      constructor(...given) {
        if (given.length === 0) super(now() + shift);
        else super(...given);
      }
    };`;
  return `data:text/javascript,${encodeURIComponent(source)}`;
}

function startDrainer(env: Record<string, string> = {}): Promise<Service> {
  return installation.start({
    ...webhookSettings,
    SVC_WEBHOOK_TIMEOUT_SECONDS: '15',
    SVC_ROLES: 'drainer',
    ...env,
  });
}

async function openReceiver(
  behave?: (request: { number: number }) => Behaviour,
): Promise<Receiver> {
  const receiver = await startReceiver(behave === undefined ? {} : { behave });
  receivers.push(receiver);
  return receiver;
}
