import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { tenant } from '../values.mjs';
import { call, until } from '../world.mjs';
import { ask, via } from './records.mjs';

export const scheduleCommands = [
  {
    name: 'run the schedule of an export',
    weight: 2,
    draw: fc.record({ via, tenant }),
    play: (world, { via: at, tenant: own }) => runSchedule(world, at, own),
  },
];

const columns = ['tenant', 'store', 'occurred_at', 'event_id', 'recorded_at'];

/** Begins a run of the tenant's schedule, which is made first; its own times are far away. */
async function runSchedule(world, at, own) {
  const known = world.schedules.get(own);
  if (known !== undefined) {
    // Another process is making it.
    if (known.id === '') return;
    await ask(world, 'run a schedule', [200], 'POST', `/exports/schedules/${known.id}/run`, {
      via: at,
    });
    return;
  }
  // One whose answer was lost may be there: the next has another name and folder.
  const name = `sim-${performance.now()}`;
  const to = join(world.settings.SVC_EXPORT_ROOTS, name);
  const schedule = { id: '', to };
  world.schedules.set(own, schedule);
  const body = { tenant: own, to, format: 'ndjson', cron: '0 0 1 1 *', columns, name };
  const answer = await ask(world, 'make a schedule', [201], 'POST', '/exports/schedules', {
    ...{ body, via: at },
  });
  if (answer === undefined) world.schedules.delete(own);
  else schedule.id = answer.json.id;
}

/**
 * Has every schedule deliver what is left, and reads all that it has delivered. Each record that is stored was delivered,
 * and none twice: one that was erased and sent again has another time.
 */
export async function judgeSchedules(world) {
  for (const [own, { id, to }] of world.schedules) {
    if (id === '') continue;
    const path = `/exports/schedules/${id}`;
    const read = async () => (await call(world, 'GET', path)).json;
    // What was begun ends first, so that the run that is begun now has all.
    const isIdle = async () => !['running', undefined].includes((await read())?.state);
    await until(`the schedule of ${own} to rest`, isIdle, 120_000);
    const before = (await read()).last_run?.id;
    await until(
      `the schedule of ${own} to deliver`,
      async () => {
        const { state, last_run: last } = await read();
        if (last !== null && last?.id !== before && last?.delivered_at) return true;
        if (state !== 'running') await call(world, 'POST', `${path}/run`);
        return false;
      },
      120_000,
    );
    const delivered = new Set();
    const keys = new Set();
    for (const line of await linesBelow(to)) {
      if (delivered.has(line)) world.say(`a schedule has delivered ${line} twice`);
      delivered.add(line);
      const { tenant: of, store, occurred_at: occurredAt, event_id: eventId } = JSON.parse(line);
      keys.add(JSON.stringify([of, store, occurredAt, eventId]));
    }
    for (const { key } of world.records.stored({ tenant: own })) {
      if (!keys.has(key)) world.say(`the schedule has not delivered ${key}`);
    }
  }
}

/** The lines of all files in folders that have their marker. */
async function linesBelow(to) {
  const lines = [];
  for (const folder of await readdir(to).catch(() => [])) {
    const names = await readdir(join(to, folder));
    if (!names.includes('_SUCCESS')) continue;
    for (const name of names.filter((each) => each.startsWith('part-'))) {
      lines.push(...(await readFile(join(to, folder, name), 'utf8')).split('\n').filter(Boolean));
    }
  }
  return lines;
}
