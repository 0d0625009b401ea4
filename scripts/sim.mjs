// npm run sim [-- --seed N] [--minutes M] [--steps S] [--profile NAME] [--path P]: plays random histories on the real
// service and a model of it, with faults, and checks that what is seen is what the model allows. A history that fails is
// played again in smaller and smaller pieces; the shortest that still fails is printed.
import { parseArgs } from 'node:util';
import { build } from './build.mjs';

const usage =
  'usage: npm run sim [-- --seed N] [--minutes M] [--steps S] [--profile NAME] [--path P] [--shrink-minutes M] [--from REF] [--pooler] [--s3]';

try {
  const options = readArguments(process.argv.slice(2));
  await build();
  const { simulate } = await import('../sim/run.mjs');
  // Node 20 may hang in its own end where sockets were reset.
  process.exit((await simulate(options)) ? 0 : 1);
} catch (error) {
  process.stderr.write(`${error.stack}\n`);
  process.exit(1);
}

function readArguments(args) {
  try {
    const { values } = parseArgs({
      args,
      options: {
        seed: { type: 'string' },
        minutes: { type: 'string', default: '1' },
        steps: { type: 'string', default: '300' },
        profile: { type: 'string', default: 'all' },
        path: { type: 'string' },
        from: { type: 'string' },
        pooler: { type: 'boolean', default: false },
        s3: { type: 'boolean', default: false },
        'shrink-minutes': { type: 'string', default: '5' },
      },
    });
    const number = (name) => {
      const value = Number(values[name]);
      if (!(value >= 0)) throw new Error(`--${name} takes a number`);
      return value;
    };
    return {
      seed: values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : number('seed'),
      minutes: number('minutes'),
      steps: number('steps'),
      shrinkMinutes: number('shrink-minutes'),
      profile: values.profile,
      path: values.path,
      from: values.from,
      on: { hasPooler: values.pooler, hasS3: values.s3 },
    };
  } catch (error) {
    process.stderr.write(`error: ${error.message}\n${usage}\n`);
    process.exit(2);
  }
}
