import { answerOf, createClient } from '../lib/client.mjs';

const count = 1000;

/** The tenant `records`, whose one leaf has records behind it. */
export async function storeRecords(scope, service) {
  const client = createClient(scope, service);
  const start = Date.UTC(2025, 0, 1);
  const stepMillis = Math.floor((31 * 86_400_000) / count);
  const records = Array.from({ length: count }, (_, n) => ({
    tenant: 'records',
    store: 'store',
    event_id: `event-${String(n).padStart(4, '0')}`,
    occurred_at: new Date(start + n * stepMillis).toISOString(),
    kind: n % 3 === 0 ? 'arrival' : 'departure',
    source: 'bench',
    enrichment: { n },
  }));
  const asked = client.open('POST', '/api/v1/enrichment/records', {
    'content-type': 'application/json',
  });
  asked.end(JSON.stringify({ records }));
  const response = await answerOf(asked);
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk;
  if (response.statusCode !== 200) throw new Error(`ingest: ${response.statusCode} ${text}`);
}
