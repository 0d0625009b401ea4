/**
 * Loaded into each process of the service before its first module: lets the simulator step its wall clock, and make the
 * file system of the cold store slow, full or broken. It reads what to do from the file in SIMULATED.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { setTimeout as delay } from 'node:timers/promises';

const { SIMULATED: path = '' } = process.env;
/** @type {{ clockMillis: number, store: string, storeDelayMillis: number, storeError: string | null }} */
let now = { clockMillis: 0, store: '', storeDelayMillis: 0, storeError: null };
const read = fs.readFileSync;

function look() {
  try {
    now = JSON.parse(read(path, 'utf8'));
  } catch {
    // It is being written: the next look will do.
  }
}

look();
setInterval(look, 50).unref();

const RealDate = Date;
const realNow = Date.now;
Date.now = () => realNow() + now.clockMillis;
globalThis.Date = new Proxy(RealDate, {
  construct: (target, given, own) =>
    Reflect.construct(target, given.length === 0 ? [Date.now()] : given, own),
});

/** Waits, and fails, as long as it is told to; only for what lies in the store. */
async function disturb(target, isWrite) {
  if (now.store === '' || !String(target).startsWith(now.store)) return;
  if (now.storeDelayMillis > 0) await delay(now.storeDelayMillis);
  if (now.storeError !== null && (isWrite || now.storeError !== 'ENOSPC')) {
    const error = new Error(`${now.storeError}: simulated, '${target}'`);
    throw Object.assign(error, {
      code: now.storeError,
      errno: -5,
      syscall: 'write',
      path: String(target),
    });
  }
}

const writes = ['writeFile', 'rename', 'mkdir'];
for (const name of [...writes, 'open', 'readFile', 'stat', 'unlink']) {
  const real = fs.promises[name];
  fs.promises[name] = async (target, ...rest) => {
    await disturb(target, writes.includes(name));
    return real.call(fs.promises, target, ...rest);
  };
}
const realStream = fs.createWriteStream;
fs.createWriteStream = (target, options) => {
  const stream = realStream(target, options);
  const write = stream._write.bind(stream);
  stream._write = (chunk, coding, done) => {
    disturb(target, true).then(() => write(chunk, coding, done), done);
  };
  return stream;
};
syncBuiltinESMExports();
