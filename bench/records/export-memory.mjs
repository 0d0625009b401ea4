import { createClient } from '../lib/client.mjs';
import { watchMemory } from '../lib/memory.mjs';
import { formatCount, formatMiB, goal, markdownTable } from '../lib/table.mjs';
import { drain, requestCsv } from './csv-request.mjs';

/**
 * The memory of a service while it exports every tenant, one after the other: of a fresh one, for a
 * long-running one may already be as large as it gets. One tenant's export goes before, to load the code.
 */
export async function measureMemory({ scope, startAnother, flights, say }) {
  say('export: all tenants, one after the other');
  const service = await startAnother(scope);
  const client = createClient(scope, service);
  const { body } = await client.get('/api/v1/enrichment/datasets?level=tenant&limit=500');
  await drain((await requestCsv(client, { tenant: body.data[0].tenant })).response);
  const memory = await watchMemory(service.pid, async () => {
    let rows = 0;
    for (const { tenant, count } of body.data) {
      const { response, rowCount } = await requestCsv(client, { tenant });
      await drain(response);
      if (rowCount !== count)
        throw new Error(`${tenant}: ${rowCount} rows, the leaf says ${count}`);
      rows += rowCount;
    }
    return rows;
  });
  if (memory.result !== flights) throw new Error(`exported ${memory.result} of ${flights} rows`);
  const growth = memory.peakBytes - memory.beforeBytes;
  return markdownTable(
    [
      `memory of a fresh service, ${formatCount(flights)} rows of ${body.data.length} tenants`,
      'MiB:',
      'goal',
    ],
    [
      ['before', formatMiB(memory.beforeBytes), ''],
      ['peak', formatMiB(memory.peakBytes), ''],
      ['growth', formatMiB(growth), goal('< 64 MiB', growth < 64 * 2 ** 20)],
    ],
  );
}
