// npm run bench -- <name> [--quick | --full | --smallest] [--only section,…] [--records N]: builds what has
// changed, then runs bench/<name>.mjs. `--records` is how many `scale` makes; `guard --keep` keeps its ratios as those
// that later runs are compared with, and `guard --strict` fails when one has slid back by more than its noise.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { build } from './build.mjs';
import { root } from './program.mjs';

const folder = join(root, 'bench');
const names = readdirSync(folder)
  .filter((file) => file.endsWith('.mjs'))
  .map((file) => file.slice(0, -'.mjs'.length));

try {
  const { name, ...options } = readArguments(process.argv.slice(2));
  await build();
  const { runBench } = await import(join(folder, `${name}.mjs`));
  await runBench(options);
} catch (error) {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
}

function readArguments(args) {
  try {
    const { positionals, values } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        quick: { type: 'boolean', default: false },
        full: { type: 'boolean', default: false },
        smallest: { type: 'boolean', default: false },
        only: { type: 'string', default: '' },
        keep: { type: 'boolean', default: false },
        strict: { type: 'boolean', default: false },
        records: { type: 'string' },
      },
    });
    const [name] = positionals;
    if (positionals.length !== 1 || !names.includes(name)) {
      throw new Error(`name one of these benches: ${names.join(', ')}`);
    }
    const [size = 'standard', other] = ['smallest', 'quick', 'full'].filter((name) => values[name]);
    if (other !== undefined) throw new Error(`--${size} and --${other} exclude each other`);
    const only = values.only.split(',').filter((section) => section !== '');
    const records = readRecords(values.records);
    return { name, size, isKept: values.keep, isStrict: values.strict, only, records };
  } catch (error) {
    process.stderr.write(
      `error: ${error.message}\nusage: npm run bench -- <name> [--quick | --full | --smallest] [--only section,…] [--records N]\n`,
    );
    process.exit(2);
  }
}

/** Reads a number such as 10000000 or 1e9. */
function readRecords(text) {
  if (text === undefined) return undefined;
  const records = Number(text);
  if (!Number.isSafeInteger(records) || records < 1)
    throw new Error(`${text} is not a number of records`);
  return records;
}
