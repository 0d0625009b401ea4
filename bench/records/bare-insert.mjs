/** The other side of single records. Run as a child process: node bare-insert.mjs <database url>. */
import { serveInserts } from '../lib/insert-server.mjs';

await serveInserts({
  text: `insert into bare_records (tenant, store, occurred_at, event_id, recorded_at, kind, source, bytes, digest, enrichment)
    values ($1, $2, $3, $4, now(), $5, $6, 0, 0, $7)`,
  valuesOf({ records: [record] }) {
    const { tenant, store, occurred_at, event_id, kind, source, enrichment } = record;
    return [tenant, store, occurred_at, event_id, kind, source, JSON.stringify(enrichment)];
  },
  answer: '{"accepted":1}',
});
