import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { accessCommands } from './commands/access.mjs';
import { backupCommands } from './commands/backups.mjs';
import { erasureCommands } from './commands/erasures.mjs';
import { exportCommands } from './commands/exports.mjs';
import { importCommands } from './commands/imports.mjs';
import { peopleCommands } from './commands/people.mjs';
import { pollCommands } from './commands/polls.mjs';
import { portalCommands } from './commands/portal.mjs';
import { recordCommands } from './commands/records.mjs';
import { replayCommands } from './commands/replays.mjs';
import { retentionCommands } from './commands/retention.mjs';
import { scheduleCommands } from './commands/schedules.mjs';
import { sessionCommands } from './commands/sessions.mjs';
import { tailCommands } from './commands/tails.mjs';
import { versionCommands } from './commands/versions.mjs';
import { register, webhookCommands } from './commands/webhooks.mjs';
import { drawnFault, faults } from './faults.mjs';
import { checkAtRest } from './invariants.mjs';
import { behaviours } from './receiver.mjs';
import { tenants } from './values.mjs';
import { layouts } from './world.mjs';

const commands = [
  ...recordCommands,
  ...erasureCommands,
  ...tailCommands,
  ...importCommands,
  ...exportCommands,
  ...versionCommands,
  ...scheduleCommands,
  ...retentionCommands,
  ...webhookCommands,
  ...pollCommands,
  ...replayCommands,
  ...accessCommands,
  ...sessionCommands,
  ...peopleCommands,
  ...portalCommands,
  ...backupCommands,
];
/** So many commands are under way at once. */
const clients = 8;
/** A fault after about so many commands. */
const commandsPerFault = 12;
/** All must hold at rest after so many steps, and at the end. */
const stepsBetweenRests = 300;

/**
 * Histories: processes, and what is done to them, in this order. `only` names the kinds that a profile plays, of commands
 * and faults.
 *
 * @param {{ steps: number, commands?: RegExp, faults?: RegExp, layouts?: string[][] }} options
 * @returns {fc.Arbitrary<{ layout: string[], steps: any[] }>}
 */
export function histories({
  steps,
  commands: ofCommands = /^/,
  faults: ofFaults = /^/,
  layouts: own = layouts,
}) {
  const command = oneOf(commands, ofCommands, ({ name, draw }) => ({
    command: fc.constant(name),
    drawn: draw,
  }));
  const fault = oneOf(faults, ofFaults, ({ name }) => ({
    fault: fc.constant(name),
    drawn: drawnFault,
  }));
  const step =
    fault === null
      ? command
      : fc.oneof({ weight: commandsPerFault, arbitrary: command }, { weight: 1, arbitrary: fault });
  return fc.record({
    layout: fc.constantFrom(...own),
    steps: fc.array(step, { minLength: steps, maxLength: steps, size: 'max' }),
  });
}

/** One of the kinds whose name matches, by their weights; null where there is none. */
function oneOf(kinds, pattern, fieldsOf) {
  const chosen = kinds.filter(({ name }) => pattern.test(name));
  if (chosen.length === 0) return null;
  return fc.oneof(
    ...chosen.map((kind) => ({ weight: kind.weight, arbitrary: fc.record(fieldsOf(kind)) })),
  );
}

/**
 * Plays a history: commands by a few clients at once, faults one after the other beside them. Ends at the first rest that
 * finds something wrong; then `world.faults` says what.
 */
export async function play(world, { steps }, tally) {
  await prepare(world);
  const running = new Set();
  let breaking = Promise.resolve();
  for (const [place, step] of steps.entries()) {
    if (step.command !== undefined) {
      while (running.size >= clients) await Promise.race(running);
      const work = playCommand(world, step, tally).finally(() => running.delete(work));
      running.add(work);
    } else {
      await breaking;
      breaking = playFault(world, step, tally);
    }
    const isLast = place === steps.length - 1;
    if (!isLast && (place + 1) % stepsBetweenRests !== 0) continue;
    await breaking;
    await Promise.all(running);
    await checkAtRest(world, tally);
    if (world.faults.length > 0) return;
  }
}

/** Two endpoints for each of a few tenants, so that incidents go somewhere from the beginning. */
async function prepare(world) {
  for (const [place, tenant] of tenants.slice(0, 4).entries()) {
    for (const more of [0, 4]) {
      const behaviour = behaviours[(place + more) % behaviours.length];
      await register(world, 0, { tenant, behaviour });
    }
    if (place < 2) await register(world, 0, { tenant, behaviour: 'polled' });
  }
}

async function playCommand(world, { command: name, drawn }, tally) {
  const kind = commands.find((each) => each.name === name);
  await tally
    .time(name, () => kind.play(world, drawn))
    .catch((error) => world.say(`${name}: ${error.stack}`));
}

async function playFault(world, { fault: name, drawn }, tally) {
  const kind = faults.find((each) => each.name === name);
  const isQuiet = kind.isQuiet?.(world, drawn) ?? false;
  if (!isQuiet) world.activeFaults += 1;
  const startedAt = performance.now();
  const span = [startedAt, Infinity];
  if (kind.mayRepeat) world.repeatSpans.push(span);
  try {
    await tally.time(`fault: ${name}`, async () => {
      const mend = await kind.begin(world, drawn);
      await delay(drawn.millis);
      await mend();
    });
  } catch (error) {
    world.say(`${name}: ${error.stack}`);
  } finally {
    if (!isQuiet) {
      world.activeFaults -= 1;
      world.disturbedAt = performance.now();
    }
    span[1] = performance.now() + 10_000;
  }
}
