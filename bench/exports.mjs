import { benchBeside } from './exports/beside.mjs';
import { benchCoverage } from './exports/coverage.mjs';
import { benchFormats } from './exports/formats.mjs';
import { sizes } from './exports/sizes.mjs';
import { startWorld } from './exports/world.mjs';
import { runSections } from './lib/run-sections.mjs';

const sections = { formats: benchFormats, beside: benchBeside, coverage: benchCoverage };

/** Exports as streams and as jobs in all formats, pages beside ten of them, and coverage of many leaves. */
export const runBench = ({ size, only }) =>
  runSections({ name: 'exports', sections, sizes, start: startWorld }, { size, only });
