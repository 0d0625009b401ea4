// npm run chaos [-- --rounds 50 | --quick]: builds what has changed, then kills drainers and PostgreSQL
// under a load of incidents and counts what came of it. A whole run writes its table into the docs.
import { parseArgs } from 'node:util';
import { build } from './build.mjs';

const wholeRun = 50;

try {
  const rounds = readArguments(process.argv.slice(2));
  await build();
  const { runChaos } = await import('../chaos/run.mjs');
  const isKept = await runChaos({ rounds, writesDocs: rounds >= wholeRun });
  process.exitCode = isKept ? 0 : 1;
} catch (error) {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
}

function readArguments(args) {
  try {
    const { values } = parseArgs({
      args,
      options: { rounds: { type: 'string' }, quick: { type: 'boolean', default: false } },
    });
    const rounds = Number(values.rounds ?? (values.quick ? 6 : wholeRun));
    if (!Number.isSafeInteger(rounds) || rounds < 1) throw new Error('--rounds takes a number');
    return rounds;
  } catch (error) {
    process.stderr.write(
      `error: ${error.message}\nusage: npm run chaos [-- --rounds N | --quick]\n`,
    );
    process.exit(2);
  }
}
