import { median, percentile } from './stats.mjs';

const warmups = 20;

/**
 * Asks ours and the bare handler in turn, request by request, so that whatever else the machine does
 * hits both alike. `paths(i)` gives the two paths of the i-th request. Milliseconds.
 */
export async function compareLatency(clients, paths, requests) {
  const [comparison] = await compareLatencies(clients, [paths], requests);
  return comparison;
}

/** The same for several kinds of request, which also take turns with each other. */
export async function compareLatencies({ ours, bare }, kinds, requests) {
  const times = kinds.map(() => ({ ours: [], bare: [] }));
  for (let i = 0; i < warmups + requests; i += 1) {
    for (const [kind, paths] of kinds.entries()) {
      const asked = paths(i);
      const own = await ours.get(asked.ours);
      const other = await bare.get(asked.bare);
      if (i < warmups) continue;
      times[kind].ours.push(own.elapsedMillis);
      times[kind].bare.push(other.elapsedMillis);
    }
  }
  return times.map((kind) => ({
    ours: summary(kind.ours),
    bare: summary(kind.bare),
    ratio: median(kind.ours) / median(kind.bare),
  }));
}

export function summary(times) {
  return { p50: median(times), p99: percentile(times, 0.99), max: Math.max(...times) };
}
