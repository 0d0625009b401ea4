import { cpus, loadavg, platform, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startPostgres } from './postgres.mjs';
import { makeTempDir, runInScope, withScope } from './scope.mjs';
import { formatSeconds, replaceBetweenMarkers } from './table.mjs';

const documentPath = fileURLToPath(new URL('../../docs/benchmarks.md', import.meta.url));

/**
 * Runs the wanted sections of a bench, one after the other, on one embedded PostgreSQL, and prints a
 * table for each; a whole run that is no trial also writes them into docs/benchmarks.md between the
 * markers `bench:<name>`. A figure short of its goal is shown; a wrong answer is thrown. Returns the texts of the
 * sections, in their own order.
 *
 * `start` makes what the sections share: fields for each section, and `about`, a word on the machine. `startServer`
 * starts another PostgreSQL than the embedded one.
 *
 * @param {{ name: string, sections: Record<string, (bench: any) => Promise<string>>, sizes: Record<string, any>,
 *   start?: (bench: any) => Promise<Record<string, any>>, startServer?: typeof startPostgres }} bench
 * @param {{ size: string, only: string[], records?: number }} options
 */
export async function runSections(
  { name, sections, sizes, start = async () => ({}), startServer = startPostgres },
  { size, only, records },
) {
  const wanted = chooseSections(Object.keys(sections), only);
  const startedAt = performance.now();
  const made = [];
  await runInScope(async (scope) => {
    const dir = makeTempDir(scope);
    const postgres = await startServer(scope, dir);
    const machine = describeMachine(await postgres.version());
    const sized = records === undefined ? sizes[size] : { ...sizes[size], records };
    const base = { dir, postgres, sizes: sized, say };
    const { about, ...shared } = await start({ ...base, scope });
    const texts = [about === undefined ? machine : `${machine} · ${about}`];
    const isTrial = size === 'quick' || size === 'smallest';
    if (isTrial)
      texts.push('**Quick run: small sizes, few samples. For trying out, not for quoting.**');
    process.stdout.write(`${texts.join('\n\n')}\n`);
    for (const section of wanted) {
      say(section);
      const text = await withScope(scope, (own) =>
        sections[section]({ ...base, ...shared, scope: own }),
      );
      process.stdout.write(`\n${text}\n`);
      texts.push(text);
      made.push(text);
    }
    say(`done in ${formatSeconds(performance.now() - startedAt)}`);
    const isWhole = wanted.length === Object.keys(sections).length;
    if (isTrial || !isWhole || scope.isClosing) return;
    replaceBetweenMarkers(documentPath, `bench:${name}`, texts.join('\n\n'));
    say(`written to ${join('docs', 'benchmarks.md')}`);
  });
  return made;
}

function chooseSections(names, only) {
  const unknown = only.find((name) => !names.includes(name));
  if (unknown !== undefined) throw new Error(`no section ${unknown}: ${names.join(', ')}`);
  return only.length === 0 ? names : names.filter((name) => only.includes(name));
}

function say(text) {
  process.stderr.write(`${text}\n`);
}

/** What the figures were taken on, one line. */
function describeMachine(postgresVersion) {
  const processors = cpus();
  return [
    `${processors.length} × ${processors[0]?.model.trim() ?? 'unknown processor'}`,
    `${Math.round(totalmem() / 2 ** 30)} GiB memory`,
    `${platform()} ${release()}`,
    `Node ${process.versions.node}`,
    `PostgreSQL ${postgresVersion}`,
    `load before the run ${loadavg()[0].toFixed(1)}`,
  ].join(' · ');
}
