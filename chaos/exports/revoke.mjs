import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

/** A stream of a revoked token must end within so many milliseconds, on a machine that is busy with everything else. */
const endMillis = 30_000;

/**
 * Opens an ingest that would never end and an export that is read slowly, each with a token of its own, and revokes the
 * token at a random moment. Answers what became of them; null when something died meanwhile, so that nothing can be said.
 */
export async function revokeStreams(world, tenant, slice) {
  const { url } = world.service;
  const { json } = await world.call('POST', '/tokens', {
    name: tenant,
    scopes: ['enrichment:write', 'analytics:read'],
  });
  const halt = new AbortController();
  const streams = [
    ingest(url, json.token, { tenant, signal: halt.signal }),
    download(url, json.token, { slice, signal: halt.signal }),
  ];
  await delay(randomInt(200, 4000));
  const { status } = await world.call('DELETE', `/tokens/${json.id}`);
  const timer = setTimeout(() => halt.abort(), endMillis);
  const [ingested, exported] = await Promise.all(streams);
  clearTimeout(timer);
  if (status !== 204 || world.service.url !== url) return null;
  const stored = await countStored(world, tenant);
  return {
    revoked: 2,
    outlived: [ingested, exported].filter((end) => end === 'outlived').length,
    looksWhole: exported === 'whole' ? 1 : 0,
    wrongAnswers: typeof ingested === 'object' && toldOf(ingested) !== stored ? 1 : 0,
  };
}

/** A part whose commit was not heard of is sent once more, and then counts as stored before. */
function toldOf({ accepted, duplicates }) {
  return accepted + duplicates;
}

/** Sends records until the service answers. Answers `outlived`, `cut`, or what the 401 says. */
async function ingest(url, token, { tenant, signal }) {
  async function* lines() {
    for (let n = 0; !signal.aborted; n += 500) {
      const made = Array.from({ length: 500 }, (_, m) => lineOf(tenant, n + m));
      yield Buffer.from(made.join(''));
      await delay(5);
    }
  }
  try {
    /** @type {any} The types of the browser know no body that is generated. */
    const sent = { body: lines(), duplex: 'half' };
    const response = await fetch(`${url}/api/v1/enrichment/records`, {
      ...sent,
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/x-ndjson' },
    });
    const answer = await response.json();
    return response.status === 401 ? answer : signal.aborted ? 'outlived' : 'cut';
  } catch {
    return signal.aborted ? 'outlived' : 'cut';
  }
}

/** Reads an export slowly. Answers `outlived`, `cut` or `whole`. */
async function download(url, token, { slice, signal }) {
  try {
    const response = await fetch(`${url}/api/v1/exports/csv`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        // Coded, it would fit into the buffers of the sockets.
        'accept-encoding': 'identity',
      },
      body: JSON.stringify(slice),
      signal,
    });
    if (response.status !== 200) return 'cut';
    for await (const _ of response.body) await delay(10);
    return 'whole';
  } catch {
    return signal.aborted ? 'outlived' : 'cut';
  }
}

function lineOf(tenant, n) {
  const enrichment = { n };
  const occurred_at = '2001-01-01T00:00:00Z';
  return `${JSON.stringify({ tenant, store: 'S', event_id: `e${n}`, occurred_at, enrichment })}\n`;
}

async function countStored(world, tenant) {
  const { json } = await world.call('GET', `/enrichment/datasets?level=tenant&tenant=${tenant}`);
  return json.data.reduce((sum, { count }) => sum + count, 0);
}
