import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { forms, readFiles, sha256Of } from '../files.mjs';
import { matches } from '../model.mjs';
import { among, events, tenant } from '../values.mjs';
import { call, until } from '../world.mjs';
import { compressed, plainForm } from './exports.mjs';
import { ask, via } from './records.mjs';

export const scheduleCommands = [
  {
    name: 'run the schedule of an export',
    weight: 2,
    draw: fc.record({ via, tenant, events, how: plainForm }),
    play: (world, { via: at, tenant: own, how, events: some }) =>
      runSchedule(world, at, own, { how, events: some }),
  },
];

/** Begins a run of the tenant's schedule, which is made first; its own times are far away. */
async function runSchedule(world, at, own, { how, events: some }) {
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
  const { meant, asked } = among(some);
  const schedule = { id: '', to, how, meant };
  world.schedules.set(own, schedule);
  const { format } = forms[how.form];
  const body = { tenant: own, to, format, cron: '0 0 1 1 *', name, ...asked, ...compressed(how) };
  const answer = await ask(world, 'make a schedule', [201], 'POST', '/exports/schedules', {
    ...{ body, via: at },
  });
  if (answer === undefined) world.schedules.delete(own);
  else schedule.id = answer.json.id;
}

/**
 * Has every schedule deliver what is left, and reads all that it has delivered. Each record that is stored was delivered
 * as it was sent, and none twice unless it was erased and sent again.
 */
export async function judgeSchedules(world) {
  for (const [own, { id, to, how, meant }] of world.schedules) {
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
    const what = `the schedule of ${own}`;
    const delivered = new Map();
    const onRecord = (content) => delivered.set(content, (delivered.get(content) ?? 0) + 1);
    for (const folder of await readdir(to).catch(() => [])) {
      const files = await filesOf(world, join(to, folder), how);
      await readFiles(world, { form: how.form, files, what, onRecord });
    }
    const filter = { tenant: own, ...meant };
    for (const content of world.records.stored(filter)) {
      if (!delivered.has(content)) world.say(`${what} has not delivered ${content.key}`);
    }
    for (const [content, times] of delivered) {
      if (!matches(filter, content)) world.say(`${what} has ${content.key}`);
      if (times > 1 && !world.records.wasErased(content))
        world.say(`${what} has delivered ${content.key} ${times} times`);
    }
  }
}

/** The files of a run, each as its manifest says; none while its folder lacks the marker. */
async function filesOf(world, folder, how) {
  const names = await readdir(folder);
  if (!names.includes('_SUCCESS')) return [];
  const read = (name) => readFile(join(folder, name));
  const manifest = await read('manifest.json');
  if (String(await read('_SUCCESS')) !== `${sha256Of(manifest)}\n`)
    world.say(`the marker in ${folder} is not of its manifest`);
  const { files } = JSON.parse(String(manifest));
  const parts = names.filter((name) => name.startsWith('part-')).toSorted();
  if (parts.join() !== files.map(({ name }) => name).join())
    world.say(`${folder} holds ${parts.join()}, not what its manifest says`);
  for (const { name, sha256 } of files) {
    if (sha256Of(await read(name)) !== sha256) world.say(`${name} in ${folder} was changed`);
  }
  return files.map(({ name }) => ({ path: join(folder, name), ...compressed(how) }));
}
