import { setTimeout as delay } from 'node:timers/promises';

const usual = { clientCount: 8, pauseMillis: 40 };

/**
 * Clients that report one incident after the other. What is not acknowledged is sent again under the
 * same key until it is, as a careful client would.
 */
export function startLoad(cluster, tenants, { clientCount, pauseMillis } = usual) {
  const acknowledged = [];
  const faults = [];
  let refused = 0;
  let sent = 0;
  let isRunning = true;

  const report = async (n) => {
    const sentAt = performance.now();
    const incident = {
      tenant: tenants[n % tenants.length],
      type: 'incident.created',
      idempotency_key: `chaos-${n}`,
      data: { n },
    };
    for (;;) {
      const answer = await cluster.call('POST', '/incidents', incident).catch(() => null);
      if (answer?.status === 202) {
        acknowledged.push({
          n,
          sentAt,
          keys: answer.json.deliveries.map((row) => row.idempotency_key),
        });
        return;
      }
      refused += 1;
      if (answer !== null && answer.status !== 503) {
        faults.push(`${answer.status} ${JSON.stringify(answer.json)}`);
        return;
      }
      await delay(pauseMillis);
    }
  };
  const clients = Array.from({ length: clientCount }, async () => {
    while (isRunning) {
      sent += 1;
      await report(sent);
      await delay(Math.random() * pauseMillis * 2);
    }
  });
  return {
    acknowledged,
    faults,
    refused: () => refused,
    async stop() {
      isRunning = false;
      await Promise.all(clients);
    },
  };
}
