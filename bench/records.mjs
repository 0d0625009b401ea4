import { runSections } from './lib/run-sections.mjs';
import { benchDatasets } from './records/datasets.mjs';
import { benchExport } from './records/export.mjs';
import { benchIngest } from './records/ingest.mjs';
import { benchPages } from './records/pages.mjs';
import { benchSingles } from './records/singles.mjs';
import { sizes } from './records/sizes.mjs';

const sections = {
  ingest: benchIngest,
  singles: benchSingles,
  datasets: benchDatasets,
  pages: benchPages,
  export: benchExport,
};

/** Records: ours against what one would use instead, side by side on one PostgreSQL. */
export const runBench = (options) => runSections({ name: 'records', sections, sizes }, options);
