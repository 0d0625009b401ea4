const everyMillis = 3000;
const mostAtOnce = 40;

/** Airports of a few states, of which more and less departures come in. */
const airports = [
  { tenant: 'TX', store: 'DFW', weight: 8 },
  { tenant: 'TX', store: 'IAH', weight: 5 },
  { tenant: 'CA', store: 'LAX', weight: 7 },
  { tenant: 'CA', store: 'SFO', weight: 4 },
  { tenant: 'IL', store: 'ORD', weight: 6 },
  { tenant: 'GA', store: 'ATL', weight: 5 },
  { tenant: 'NY', store: 'JFK', weight: 2 },
  { tenant: 'FL', store: 'MIA', weight: 1 },
];

/** Stores a few made-up departures of this moment every few seconds, until the signal aborts. */
export function startDemoRecords({ url, token }, signal) {
  const store = (records) =>
    fetch(`${url}/api/v1/enrichment/records`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ records }),
      signal,
    });
  const timer = setInterval(() => {
    // If the service is away for a moment, these records are lost to the demo; the next ones come soon.
    store(departures(1 + Math.floor(Math.random() * mostAtOnce))).catch(() => {});
  }, everyMillis);
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
}

function departures(count) {
  const now = Date.now();
  return Array.from({ length: count }, (_, n) => {
    const { tenant, store } = anAirport();
    const delay = Math.floor(Math.random() * 60);
    const score = Math.round(1000 / (1 + Math.exp((25 - delay) / 9 + Math.random()))) / 1000;
    return {
      tenant,
      store,
      event_id: `now-${now}-${n}`,
      occurred_at: new Date(now - n).toISOString(),
      kind: 'departure',
      source: anAirport().store,
      model: 'delay-3',
      confidence: Math.round(50 + 100 * Math.abs(score - 0.5)) / 100,
      enrichment: { score, delay, origin: { iata: store, state: tenant } },
    };
  });
}

function anAirport() {
  const all = airports.reduce((sum, { weight }) => sum + weight, 0);
  let left = Math.random() * all;
  return airports.find(({ weight }) => {
    left -= weight;
    return left < 0;
  });
}
