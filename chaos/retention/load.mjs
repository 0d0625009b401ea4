import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { recordDigest } from '../../packages/server/dist/kernel/digest.js';

const tenants = ['AK', 'AZ', 'CA', 'CO', 'FL', 'GA', 'NY', 'TX'];
const writers = 3;
const usual = { batchRecords: 400, pauseMillis: 60 };
const dayMillis = 86_400_000;
const firstDay = Date.UTC(2001, 0, 1);
/** Days that are written to; before `keptFrom` a policy deletes them, of the first tenant only. */
const dayCount = 40;

/**
 * Clients that store records of any day, old days among them, and one that asks for runs and erasures.
 * What is not acknowledged is sent again until it is. `expected` knows what must be there in the end, and `sent` also
 * what may be there before it is acknowledged.
 */
export function startLoad(world, { batchRecords, pauseMillis } = usual) {
  const expected = new Map();
  const sent = new Map();
  const erased = new Set();
  const faults = [];
  const sum = {
    batches: 0,
    accepted: 0,
    duplicates: 0,
    conflicts: 0,
    refused: 0,
    runs: 0,
    erasures: 0,
  };
  let isRunning = true;
  let lastRecord = 0;

  /** Until it is answered as it should be. */
  const insist = async (method, path, body, isDone) => {
    for (;;) {
      const answer = await world.call(method, path, body).catch(() => null);
      if (answer !== null && isDone(answer)) return answer;
      sum.refused += 1;
      if (answer !== null && ![503, 429, 409].includes(answer.status)) {
        faults.push(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.json)}`);
        return null;
      }
      await delay(pauseMillis);
    }
  };

  const writeBatch = async () => {
    const fresh = Array.from({ length: batchRecords }, () => {
      lastRecord += 1;
      return makeRecord(lastRecord);
    });
    for (const record of fresh) sent.set(record.event_id, record);
    const old = [...expected.values()].slice(-5000);
    const again = old.length === 0 ? [] : [pick(old), pick(old)];
    const clash = old.length === 0 ? [] : [{ ...pick(old), kind: 'another' }];
    const records = [...fresh, ...again, ...clash];
    const answer = await insist('POST', '/enrichment/records', { records }, ok);
    if (answer === null) return;
    for (const record of fresh) expected.set(record.event_id, record);
    sum.batches += 1;
    sum.accepted += fresh.length;
    sum.duplicates += answer.json.duplicates;
    sum.conflicts += answer.json.rejected_count;
    const clashes = answer.json.rejected.filter(({ code }) => code === 'conflict').length;
    // An event that was erased in between is new again, and so is what clashed with it.
    const few = answer.json.rejected_count !== clashes || clashes > clash.length;
    if (few) faults.push(`rejected: ${JSON.stringify(answer.json.rejected.slice(0, 3))}`);
  };

  const clients = Array.from({ length: writers }, async () => {
    while (isRunning) {
      await writeBatch();
      await delay(randomInt(pauseMillis * 2));
    }
  });
  clients.push(
    (async () => {
      while (isRunning) {
        const asked = await insist('POST', '/retention/run', {}, ({ status }) => status === 202);
        sum.runs += asked === null ? 0 : 1;
        // One at a time: a clone would begin with the hundreds that wait.
        for (let run = asked; isRunning && isOpen(run); await delay(200)) {
          run = await insist('GET', `/retention/runs/${asked.json.id}`, undefined, ok);
        }
      }
    })(),
  );
  return {
    expected,
    sent,
    erased,
    faults,
    sum,
    tenants,
    describe: () => `${expected.size} records acknowledged, ${sum.runs} runs`,
    async stop() {
      isRunning = false;
      await Promise.all(clients);
    },
  };
}

function isOpen(run) {
  return run !== null && ['queued', 'running'].includes(run.json.state);
}

function ok({ status }) {
  return status === 200;
}

function pick(list) {
  return list[randomInt(list.length)];
}

function makeRecord(number) {
  const tenant = tenants[number % tenants.length];
  const at = firstDay + randomInt(dayCount) * dayMillis + randomInt(dayMillis);
  return {
    tenant,
    store: `store-${number % 5}`,
    event_id: `e-${number}`,
    occurred_at: new Date(at).toISOString().replace('Z', '000Z'),
    kind: number % 3 === 0 ? 'departure' : 'arrival',
    enrichment: { n: number, text: 'x'.repeat(number % 200) },
  };
}

/** Of a record that was sent, as the service counts it. */
export function digestOf(record) {
  return recordDigest({
    tenant: record.tenant,
    store: record.store,
    occurredAtMicros: Date.parse(record.occurred_at) * 1000,
    eventId: record.event_id,
    kind: record.kind,
    source: null,
    model: null,
    confidence: null,
    enrichment: JSON.stringify(record.enrichment),
  });
}
