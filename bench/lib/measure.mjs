import { setTimeout as delay } from 'node:timers/promises';

const warmups = 20;

/** The value that the given share of the values does not exceed (nearest rank). */
export function percentile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
}

export const median = (values) => percentile(values, 0.5);

export const summary = (times) => ({
  p50: median(times),
  p99: percentile(times, 0.99),
  max: Math.max(...times),
});

/** Answers how long work took, in milliseconds, and its result. */
export async function timed(work) {
  const startedAt = performance.now();
  const result = await work();
  return [performance.now() - startedAt, result];
}

/**
 * @template {string} Name
 * @template Value, Answer
 * @param {Record<Name, Value>} object
 * @param {(value: Value) => Answer} of
 * @returns {Record<Name, Answer>}
 */
export const mapValues = (object, of) =>
  /** @type {any} */ (
    Object.fromEntries(Object.entries(object).map(([name, value]) => [name, of(value)]))
  );

/**
 * Runs several ways of doing the same in turn, so that whatever else the machine does hits all alike. Answers what each
 * answered, by its name; the first rounds warm up and are not kept.
 *
 * @template {string} Name
 * @param {Record<Name, (round: number) => unknown>} ways
 * @param {number} rounds
 * @param {{ warmups?: number, onRound?: (round: number) => void }} options
 * @returns {Promise<Record<Name, any[]>>}
 */
export async function inTurn(ways, rounds, { warmups: first = 0, onRound = () => {} } = {}) {
  const kept = mapValues(ways, () => /** @type {any[]} */ ([]));
  for (let round = 0; round < first + rounds; round += 1) {
    onRound(round);
    for (const [name, way] of /** @type {[Name, any][]} */ (Object.entries(ways))) {
      const answer = await way(round);
      if (round >= first) kept[name].push(answer);
    }
  }
  return kept;
}

/**
 * Asks ours and the other side in turn, request by request, and several kinds of requests, too. `kinds` give the two paths
 * of the i-th request. Milliseconds.
 */
export async function compareLatencies({ ours, bare }, kinds, requests) {
  const ways = {};
  for (const [kind, paths] of kinds.entries()) {
    ways[`ours ${kind}`] = async (i) => (await ours.get(paths(i).ours)).elapsedMillis;
    ways[`bare ${kind}`] = async (i) => (await bare.get(paths(i).bare)).elapsedMillis;
  }
  const times = mapValues(await inTurn(ways, requests, { warmups }), summary);
  return kinds.map((_, kind) => {
    const [own, other] = [times[`ours ${kind}`], times[`bare ${kind}`]];
    return { ours: own, bare: other, ratio: own.p50 / other.p50 };
  });
}

/** How often a second `browse` asks. */
const browsesPerSecond = 50;

/**
 * Asks for these paths in turn, fifty times a second whether or not answers have come, until `isOver`. Each client has
 * a connection of its own, so that one slow answer does not hold up the next request.
 */
export async function browse(clients, paths, isOver) {
  const times = [];
  const asked = [];
  while (!isOver()) {
    const at = asked.length;
    const answered = clients[at % clients.length].get(paths[at % paths.length]);
    asked.push(answered.then(({ elapsedMillis }) => times.push(elapsedMillis)));
    await delay(1000 / browsesPerSecond);
  }
  await Promise.all(asked);
  return { ...summary(times), count: times.length };
}

/** Tells when so much time has passed. */
export function after(millis) {
  const end = performance.now() + millis;
  return () => performance.now() > end;
}

/** Waits until `probe` answers something other than undefined; answers it. */
export async function until(probe, timeoutMillis = 600_000) {
  const isOver = after(timeoutMillis);
  for (;;) {
    const answer = await probe();
    if (answer !== undefined) return answer;
    if (isOver()) throw new Error('waited too long');
    await delay(20);
  }
}
