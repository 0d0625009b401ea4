import { runSections } from './lib/run-sections.mjs';
import { benchDatasets } from './records/datasets.mjs';
import { benchExport } from './records/export.mjs';
import { benchFind } from './records/find.mjs';
import { benchImport } from './records/import.mjs';
import { benchIngest, benchSingles } from './records/ingest.mjs';
import { benchLive } from './records/live.mjs';
import { benchPages } from './records/pages.mjs';
import { benchTimes } from './records/times.mjs';

const sections = {
  ingest: benchIngest,
  import: benchImport,
  singles: benchSingles,
  datasets: benchDatasets,
  pages: benchPages,
  times: benchTimes,
  live: benchLive,
  find: benchFind,
  export: benchExport,
};

/**
 * How much each kind of run measures. `pairs`: how often ours and the other side take turns. `smallest` only
 * shows that a section still runs.
 */
const sizes = {
  smallest: {
    ingest: { flights: 3000, pairs: 1 },
    import: { flights: 3000, pairs: 1 },
    singles: { requests: 80, pairs: 1 },
    datasets: { tenants: 10, stores: 20, months: 12, requests: 2 },
    pages: { records: 12_000, requests: 2 },
    times: { stores: 200, days: 4, requests: 2 },
    live: { records: 20, followers: 2 },
    find: { flights: 3000, requests: 2 },
    export: { flights: 6000, pairs: 1, firstBytes: 1, watchMillis: 100 },
  },
  quick: {
    ingest: { flights: 60_000, pairs: 1 },
    import: { flights: 60_000, pairs: 1 },
    singles: { requests: 8000, pairs: 1 },
    datasets: { tenants: 20, stores: 84, months: 12, requests: 40 },
    pages: { records: 30_000, requests: 60 },
    times: { stores: 2000, days: 10, requests: 30 },
    live: { records: 200, followers: 10 },
    find: { flights: 60_000, requests: 60 },
    export: { flights: 100_000, pairs: 1, firstBytes: 5, watchMillis: 1000 },
  },
  standard: {
    ingest: { flights: 500_000, pairs: 3 },
    import: { flights: 500_000, pairs: 3 },
    singles: { requests: 15_000, pairs: 3 },
    datasets: { tenants: 200, stores: 417, months: 12, requests: 300 },
    pages: { records: 1_000_000, requests: 300 },
    times: { stores: 20_000, days: 20, requests: 100 },
    live: { records: 1000, followers: 10 },
    find: { flights: 1_000_000, requests: 300 },
    export: { flights: 1_500_000, pairs: 5, firstBytes: 20, watchMillis: 3000 },
  },
  full: {
    ingest: { flights: 3_000_000, pairs: 3 },
    import: { flights: 3_000_000, pairs: 3 },
    singles: { requests: 50_000, pairs: 5 },
    datasets: { tenants: 200, stores: 417, months: 12, requests: 1000 },
    pages: { records: 1_000_000, requests: 1000 },
    times: { stores: 20_000, days: 20, requests: 300 },
    live: { records: 3000, followers: 100 },
    find: { flights: 3_000_000, requests: 1000 },
    export: { flights: 3_000_000, pairs: 5, firstBytes: 20, watchMillis: 3000 },
  },
};

/** Records: ours against what one would use instead, side by side on one PostgreSQL. */
export const runBench = (options) => runSections({ name: 'records', sections, sizes }, options);
