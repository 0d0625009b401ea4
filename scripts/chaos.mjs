// npm run chaos [-- webhooks|retention|exports|backup|rolling] [--rounds N | --quick]: builds what has changed, then kills
// the service and PostgreSQL under load and counts what was lost or doubled. A full run writes its table into the docs.
// With --from REF, rolling replaces processes of that commit by those of this tree, and these by those again.
import { parseArgs } from 'node:util';
import { build } from './build.mjs';

const wholeRuns = { webhooks: 50, retention: 100, exports: 25, backup: 16, rolling: 10 };
const usage =
  'usage: npm run chaos [-- webhooks|retention|exports|backup|rolling] [--rounds N | --quick] [--from REF]';

try {
  const { names, rounds, isQuick, from } = readArguments(process.argv.slice(2));
  await build();
  for (const name of names) {
    const { runChaos } = await import(`../chaos/${name}/run.mjs`);
    const count = rounds ?? (isQuick ? 6 : wholeRuns[name]);
    const writesDocs = count >= wholeRuns[name] && from === undefined;
    const isKept = await runChaos({ rounds: count, writesDocs, from });
    if (!isKept) process.exitCode = 1;
  }
} catch (error) {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
}

function readArguments(args) {
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        rounds: { type: 'string' },
        quick: { type: 'boolean', default: false },
        from: { type: 'string' },
      },
    });
    const names = Object.keys(wholeRuns);
    const unknown = positionals.find((name) => !names.includes(name));
    if (unknown !== undefined) throw new Error(`no chaos ${unknown}: ${names.join(', ')}`);
    const rounds = values.rounds === undefined ? undefined : Number(values.rounds);
    if (rounds !== undefined && !(Number.isSafeInteger(rounds) && rounds > 0)) {
      throw new Error('--rounds takes a number');
    }
    const { quick: isQuick, from } = values;
    if (from !== undefined && positionals.join() !== 'rolling') {
      throw new Error('--from goes with rolling alone');
    }
    return { names: positionals.length === 0 ? names : positionals, rounds, isQuick, from };
  } catch (error) {
    process.stderr.write(`error: ${error.message}\n${usage}\n`);
    process.exit(2);
  }
}
