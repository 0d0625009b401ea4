// npm run test:citus: runs the tests of the database and a full pass on a Citus cluster: a coordinator and two workers on
// this machine, started with the programs that pg_config (or PG_CONFIG) names. Arguments go to vitest. Without Citus it
// says so and ends well, unless CI_CITUS=1 says that it must be there.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { build } from './build.mjs';
import { installed, run, runLeavingNothing, tellingFaults } from './program.mjs';
import { ensureInstalled } from './setup.mjs';

const pgConfig = process.env.PG_CONFIG ?? 'pg_config';

await tellingFaults(async () => {
  const missing = await findMissing();
  if (missing === null) {
    await ensureInstalled();
    await build();
    const env = { ...process.env, SVC_TEST_CITUS: pgConfig };
    const args = ['run', ...process.argv.slice(2)];
    const { code } = await runLeavingNothing(installed('vitest'), args, env);
    if (code !== 0) process.exitCode = 1;
  } else {
    process.stdout.write(`no Citus here, nothing was tested: ${missing}\n`);
    if (process.env.CI_CITUS === '1') process.exitCode = 1;
  }
});

/** Says what is missing on this machine to run Citus; null when nothing is. */
async function findMissing() {
  const ask = async (option) => (await run(pgConfig, [option])).output.trim();
  try {
    const [binDir, shareDir] = [await ask('--bindir'), await ask('--sharedir')];
    const needed = [join(binDir, 'postgres'), join(shareDir, 'extension', 'citus.control')];
    const lost = needed.find((file) => !existsSync(file));
    return lost === undefined ? null : `${lost} does not exist`;
  } catch (error) {
    return `${pgConfig} does not run (${error.message})`;
  }
}
