import { runSections } from './lib/run-sections.mjs';
import { benchExports } from './retention/exports.mjs';
import { benchMoving } from './retention/moving.mjs';
import { benchPages } from './retention/pages.mjs';
import { benchSegments } from './retention/segments.mjs';
import { sizes } from './retention/sizes.mjs';
import { startWorld } from './retention/world.mjs';

const sections = {
  // First: the others read what it has moved.
  moving: benchMoving,
  exports: benchExports,
  pages: benchPages,
  segments: benchSegments,
};

/**
 * The cold tier: what moving costs, and reading cold data against PostgreSQL and DuckDB, on the flights
 * of the demo.
 */
export const runBench = ({ size, only }) =>
  runSections(
    { name: 'retention', sections, sizes, start: startWorld },
    { size, only: only.length === 0 ? only : ['moving', ...only] },
  );
