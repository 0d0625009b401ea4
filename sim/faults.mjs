import fc from 'fast-check';
import { control, endProcess, isReplaceable, startProcess } from './world.mjs';

const at = fc.nat(3);
const duration = fc.integer({ min: 100, max: 1500 });

/**
 * The kinds of fault. `begin` breaks something and answers how it is mended; between the two pass `millis`. `mayRepeat`
 * says whether a delivery may come twice because of it, `isQuiet` that no call to another process may fail because of it.
 * What must hold is the same for all of them: see invariants.mjs.
 *
 * @type {any[]}
 */
export const faults = [
  {
    name: 'kill a process',
    weight: 4,
    mayRepeat: true,
    isQuiet: (world, { at: which }) => isReplaceable(world, pick(world, which)),
    async begin(world, { at: which }) {
      const each = pick(world, which);
      each.kills += 1;
      each.url = '';
      each.isReady = false;
      await endProcess(each, 'SIGKILL');
      return () => startProcess(world, each);
    },
  },
  {
    name: 'restart a process',
    weight: 2,
    mayRepeat: false,
    isQuiet: (world, { at: which }) => isReplaceable(world, pick(world, which)),
    async begin(world, { at: which, millis }) {
      const each = pick(world, which);
      const code = await endProcess(each, 'SIGTERM');
      each.url = '';
      each.isReady = false;
      if (code !== 0) world.say(`process ${each.at} ended with ${code} after SIGTERM`);
      return () => startProcess(world, each, world.programs[millis % world.programs.length]);
    },
  },
  {
    name: 'freeze a process',
    weight: 3,
    mayRepeat: true,
    async begin(world, { at: which }) {
      const { child } = pick(world, which);
      child.kill('SIGSTOP');
      return () => void child.kill('SIGCONT');
    },
  },
  {
    name: 'kill PostgreSQL',
    weight: 2,
    mayRepeat: true,
    async begin(world) {
      await world.ground.kill();
      return () => {};
    },
  },
  ofDatabase('cut the connections to the database', 3, (proxy) => proxy.cut()),
  ofDatabase(
    'slow the database down',
    2,
    (proxy) => proxy.slow(30),
    (proxy) => proxy.heal(),
  ),
  ofDatabase(
    'slow the database down and cut its connections',
    2,
    (proxy) => proxy.slow(30),
    (proxy) => {
      proxy.cut();
      proxy.heal();
    },
  ),
  ofDatabase(
    'let the database not answer',
    2,
    (proxy) => proxy.deafen(),
    (proxy) => {
      proxy.heal();
      proxy.cut();
    },
  ),
  { name: 'fill the disk of the store', weight: 2, ...ofStore({ storeError: 'ENOSPC' }) },
  { name: 'let the disk of the store fail', weight: 1, ...ofStore({ storeError: 'EIO' }) },
  { name: 'let the store not answer', weight: 2, ...ofStore({ storeError: 'ETIMEDOUT' }) },
  { name: 'slow the store down', weight: 2, ...ofStore({ storeDelayMillis: 200 }) },
  { name: 'set a clock ahead', weight: 1, ...ofProcess({ clockMillis: 7_200_000 }) },
  { name: 'set a clock back', weight: 1, ...ofProcess({ clockMillis: -7_200_000 }) },
  ofReceiver(
    'reset all webhooks',
    (receiver) => receiver.down(true),
    (receiver) => receiver.down(false),
  ),
  ofReceiver(
    'let receivers answer late',
    (receiver) => receiver.slow(2500),
    (receiver) => receiver.slow(0),
  ),
];

/** What is drawn of a fault: which process it meets, and how long it lasts. */
export const drawnFault = fc.record({ at, millis: duration });

/** What stands between the processes and the database breaks something; where nothing mends it, it mends itself. */
function ofDatabase(name, weight, hurt, mend = (_proxy) => {}) {
  return {
    ...{ name, weight, mayRepeat: true },
    async begin({ databaseProxy }) {
      hurt(databaseProxy);
      return () => mend(databaseProxy);
    },
  };
}

function ofReceiver(name, hurt, mend) {
  return {
    ...{ name, weight: 2, mayRepeat: true },
    async begin({ receiver }) {
      hurt(receiver);
      return () => mend(receiver);
    },
  };
}

/** All processes see their store so. */
function ofStore(how) {
  return {
    mayRepeat: false,
    async begin(world) {
      if (world.store.disturb !== undefined) return world.store.disturb(how);
      for (const each of world.processes) control(world, each, how);
      return () => {
        for (const each of world.processes) control(world, each, {});
      };
    },
  };
}

/** One process is told so. */
function ofProcess(how) {
  return {
    mayRepeat: false,
    async begin(world, { at: which }) {
      const each = pick(world, which);
      control(world, each, how);
      return () => control(world, each, {});
    },
  };
}

function pick({ processes }, which) {
  return processes[which % processes.length];
}
