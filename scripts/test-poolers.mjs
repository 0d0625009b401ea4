// npm run test:poolers: tries the built program behind the pgbouncer that is on PATH, in each of its modes and under two
// roles. Each case must work, with the same files and counters as without a pooler, or be refused at the start. Writes
// its table into docs/operations/databases.md.
import { join } from 'node:path';
import { build } from './build.mjs';
import { root, run, tellingFaults } from './program.mjs';

await tellingFaults(async () => {
  const found = await run('pgbouncer', ['--version']).catch(() => null);
  if (found === null) {
    throw new Error(
      'pgbouncer is not on PATH, so nothing was tried (on Debian: apt-get install pgbouncer)',
    );
  }
  await build();
  const [{ tryPoolers }, { markdownTable, replaceBetweenMarkers }] = await Promise.all([
    import('../sim/poolers/try.mjs'),
    import('../bench/lib/table.mjs'),
  ]);
  const { cases, version } = await tryPoolers();
  const rows = cases.map(({ pooler, role, outcome }) => [pooler, role, outcome]);
  const table = markdownTable(['connection', 'role', 'outcome'], rows);
  const name = found.output.split('\n')[0].trim();
  const text = `${table}\n\n${name}, PostgreSQL ${version}, Node ${process.versions.node}.`;
  process.stdout.write(`\n${text}\n`);
  replaceBetweenMarkers(join(root, 'docs', 'operations', 'databases.md'), 'poolers', text);
  const wrong = cases.filter(({ isRight }) => !isRight).length;
  if (wrong > 0) throw new Error(`${wrong} cases did not end as they must`);
});
