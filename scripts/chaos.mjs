// npm run chaos [-- webhooks|retention|exports] [--rounds N | --quick]: builds what has changed, then kills the service
// and PostgreSQL under load and counts what was lost or doubled. A full run writes its table into the docs.
import { parseArgs } from 'node:util';
import { build } from './build.mjs';

const wholeRuns = { webhooks: 50, retention: 100, exports: 25 };

try {
  const { names, rounds, isQuick } = readArguments(process.argv.slice(2));
  await build();
  for (const name of names) {
    const { runChaos } = await import(`../chaos/${name}/run.mjs`);
    const count = rounds ?? (isQuick ? 6 : wholeRuns[name]);
    const isKept = await runChaos({ rounds: count, writesDocs: count >= wholeRuns[name] });
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
      options: { rounds: { type: 'string' }, quick: { type: 'boolean', default: false } },
    });
    const names = Object.keys(wholeRuns);
    const unknown = positionals.find((name) => !names.includes(name));
    if (unknown !== undefined) throw new Error(`no chaos ${unknown}: ${names.join(', ')}`);
    const rounds = values.rounds === undefined ? undefined : Number(values.rounds);
    if (rounds !== undefined && !(Number.isSafeInteger(rounds) && rounds > 0)) {
      throw new Error('--rounds takes a number');
    }
    return { names: positionals.length === 0 ? names : positionals, rounds, isQuick: values.quick };
  } catch (error) {
    process.stderr.write(
      `error: ${error.message}\nusage: npm run chaos [-- webhooks|retention|exports] [--rounds N | --quick]\n`,
    );
    process.exit(2);
  }
}
