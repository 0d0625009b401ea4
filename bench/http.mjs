import { benchBeside } from './http/beside.mjs';
import { benchFlood } from './http/flood.mjs';
import { sizes } from './http/sizes.mjs';
import { runSections } from './lib/run-sections.mjs';

/** What the service answers while somebody leans on it. */
export const runBench = (options) =>
  runSections(
    { name: 'http', sections: { flood: benchFlood, beside: benchBeside }, sizes },
    options,
  );
