import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { programPath } from '../bench/lib/product.mjs';
import { openScope, runInScope } from '../bench/lib/scope.mjs';
import { markdownTable } from '../bench/lib/table.mjs';
import { openGround } from './ground.mjs';
import { histories, play } from './history.mjs';
import { profiles } from './profiles.mjs';
import { buildRelease } from './release.mjs';
import { makeWorld } from './world.mjs';

/**
 * Plays histories one after the other until the time is over or one fails. Each has a seed of its own, the first that of
 * the call, so that a failing one can be played alone; with `path` a piece of one, as it was printed. With `from`,
 * processes of that commit take turns with those of this tree; `on` says what they are played on. Answers whether all
 * held.
 */
export function simulate({ seed, minutes, steps, profile, path, shrinkMinutes, from, on }) {
  const { [profile]: kinds } = profiles;
  if (kinds === undefined) {
    throw new Error(`no profile ${profile}: ${Object.keys(profiles).join(', ')}`);
  }
  return runInScope(async (scope) => {
    const dir = mkdtempSync(join(tmpdir(), 'svcctl-sim-'));
    say(`seed ${seed}, profile ${profile}, in ${dir}`);
    const ground = await openGround(scope, dir, on);
    const programs = [programPath];
    if (from !== undefined) programs.push(await buildRelease(scope, from, join(dir, 'release')));
    const tally = makeTally();
    const { settings } = kinds;
    const stage = { ground, dir, programs, settings, drawn: histories({ steps, ...kinds }) };
    if (path !== undefined)
      return (await playPieces(stage, { seed, path, minutes: shrinkMinutes })) === null;
    const deadline = performance.now() + minutes * 60_000;
    let [own, count] = [seed, 0];
    do {
      count += 1;
      const [history] = fc.sample(stage.drawn, { seed: own, numRuns: 1 });
      const found = await playOne(stage, { history, tally, name: `h${count}` });
      say(`history ${count} (seed ${own}): ${tally.line()}`);
      if (found.length > 0) {
        const faults = found.slice(0, 20).map((fault) => `fault: ${fault}`);
        faults.forEach(say);
        const again = `npm run sim -- --seed ${own} --steps ${steps} --profile ${profile}`;
        const shortest =
          shrinkMinutes > 0
            ? await playPieces(stage, { seed: own, path: undefined, minutes: shrinkMinutes })
            : null;
        say(`\nlogs and store: ${dir}\nplay it again: ${again} --minutes 0`);
        if (shortest !== null) say(`the shortest: ${again} --path ${shortest}`);
        // Once more after the table: of a long log only the end may be kept.
        process.stdout.write(`${tally.table()}\n${faults.join('\n')}\n`);
        return false;
      }
      own += 1;
    } while (performance.now() < deadline);
    process.stdout.write(
      `${tally.table()}\n${count} histories, ${tally.line()}, no fault; seed ${seed}\n`,
    );
    rmSync(dir, { recursive: true, force: true, maxRetries: 3 });
    return true;
  });
}

/** Plays a history in a world of its own. Answers what was wrong. */
async function playOne({ ground, dir, programs, settings }, { history, tally, name }) {
  const scope = openScope();
  const own = join(dir, name);
  mkdirSync(own);
  let world;
  try {
    world = await makeWorld(scope, {
      ground,
      programs,
      settings,
      dir: own,
      layout: history.layout,
    });
    await play(world, history, tally);
    return world.faults;
  } catch (error) {
    return [...(world?.faults ?? []), error.stack];
  } finally {
    await scope.close();
  }
}

/**
 * Plays ever smaller pieces of a history, and prints the shortest that still fails; with `path` that piece alone. Answers
 * its path, null when nothing failed.
 */
async function playPieces(stage, { seed, path, minutes }) {
  let number = 0;
  /** @type {any} */
  let shortest = null;
  let why = [];
  /** @type {Promise<string[]>} */
  let playing = Promise.resolve([]);
  const property = fc.asyncProperty(stage.drawn, async (/** @type {any} */ history) => {
    number += 1;
    const name = `piece-${number}`;
    playing = playOne(stage, { history, tally: makeTally(), name });
    const found = await playing;
    if (found.length === 0)
      return rmSync(join(stage.dir, name), { recursive: true, maxRetries: 3 });
    [shortest, why] = [history, found];
    say(`still fails with ${history.steps.length} steps: ${found[0].slice(0, 200)}`);
    throw new Error(found[0]);
  });
  const { counterexamplePath } = await fc.check(property, {
    ...{ seed, numRuns: 1, interruptAfterTimeLimit: minutes * 60_000 },
    ...(path !== undefined && { path, endOnFailure: true }),
  });
  // When time is up, the check does not wait for the last piece, which would leave processes behind.
  await playing;
  if (shortest === null) {
    say('it did not fail again');
    return null;
  }
  say(
    `\nthe shortest that failed, ${shortest.steps.length} steps on ${fc.stringify(shortest.layout)}:`,
  );
  for (const step of shortest.steps) say(`  ${fc.stringify(step).slice(0, 300)}`);
  for (const fault of why.slice(0, 10)) say(`fault: ${fault}`);
  return counterexamplePath;
}

/** Counts steps and faults and how long they took, by kind. */
function makeTally() {
  const kinds = new Map();
  const startedAt = performance.now();
  const sum = (isMeant) =>
    [...kinds].reduce((total, [name, { count }]) => total + (isMeant(name) ? count : 0), 0);
  const isFault = (name) => name.startsWith('fault: ');
  const isCommand = (name) => !isFault(name) && !name.startsWith('rest: ');
  return {
    async time(name, work) {
      const from = performance.now();
      try {
        return await work();
      } finally {
        const kind = kinds.get(name) ?? { count: 0, millis: 0, most: 0 };
        const took = performance.now() - from;
        kinds.set(name, {
          count: kind.count + 1,
          millis: kind.millis + took,
          most: Math.max(kind.most, took),
        });
      }
    },
    line() {
      const seconds = (performance.now() - startedAt) / 1000;
      const [steps, broken] = [sum(isCommand), sum(isFault)];
      return `${steps} commands (${(steps / seconds).toFixed(1)}/s) and ${broken} faults (${(broken / seconds).toFixed(2)}/s) in ${Math.round(seconds)} s`;
    },
    table: () =>
      markdownTable(
        ['step', 'times:', 'ms each:', 'ms at most:'],
        [...kinds]
          .toSorted(([one], [other]) => (one < other ? -1 : 1))
          .map(([name, { count, millis, most }]) => [
            name,
            String(count),
            (millis / count).toFixed(0),
            most.toFixed(0),
          ]),
      ),
  };
}

function say(text) {
  process.stderr.write(`${text}\n`);
}
