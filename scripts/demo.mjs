// npm run demo: does what `npm start` does, and then what `svcctl demo` does, with all of the data: three million real
// events, and the service's data in ./data.
// npm run demo -- --limit 100000        loads fewer events
// npm run demo -- --cold 2001-05-01     then moves what happened before that day to the cold tier
// npm run demo -- --outage              then plays an outage of a receiver, and what an operator does about it
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { build } from './build.mjs';
import { root, tellingFaults } from './program.mjs';
import { ensureInstalled } from './setup.mjs';

const values = readOptions();
const { limit, cold, outage } = values;

await tellingFaults(async () => {
  await ensureInstalled();
  await build();
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => stop.abort());
  const { runDemo } = await import('../packages/server/demo/demo.mjs');
  process.exitCode = await runDemo({
    dataDir: resolve(process.env.SVC_DATA_DIR ?? join(root, 'data')),
    env: process.env,
    stop: stop.signal,
    flags: values['print-sign-in'] ? ['--print-sign-in'] : [],
    limit: limit === undefined ? undefined : Number(limit),
    cold,
    hasOutage: outage,
    svcctl: 'node_modules/.bin/svcctl',
  });
});

function readOptions() {
  const usage =
    'usage: npm run demo -- [--limit N] [--cold YYYY-MM-DD] [--outage] [--print-sign-in]\n';
  try {
    const { values: given } = parseArgs({
      options: {
        help: { type: 'boolean', short: 'h' },
        limit: { type: 'string' },
        cold: { type: 'string' },
        outage: { type: 'boolean' },
        // The service's own.
        'print-sign-in': { type: 'boolean' },
      },
    });
    if (!/^[1-9]\d*$/.test(given.limit ?? '1')) {
      throw new Error(`--limit takes a whole number from 1 on, not ${given.limit}`);
    }
    if (given.help !== true) return given;
    process.stdout.write(usage);
    process.exit(0);
  } catch (error) {
    process.stderr.write(`error: ${error.message}\n${usage}`);
    process.exit(2);
  }
}
