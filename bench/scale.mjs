import { runSections } from './lib/run-sections.mjs';
import { benchDay } from './scale/day.mjs';
import { benchExports } from './scale/exports.mjs';
import { benchMade } from './scale/made.mjs';
import { benchReading } from './scale/reading.mjs';
import { sizes } from './scale/sizes.mjs';
import { benchVerify } from './scale/verify.mjs';
import { startWorlds } from './scale/world.mjs';

const sections = {
  made: benchMade,
  reading: benchReading,
  exports: benchExports,
  verify: benchVerify,
  // Last: it changes the worlds.
  day: benchDay,
};

/** The same product with a million and with a billion records: what grows, and what does not. */
export const runBench = (options) =>
  runSections({ name: 'scale', sections, sizes, start: startWorlds }, options);
