// Writes and hashes in a thread of its own: in the main thread, every request would wait meanwhile. Takes {id, op, …} as
// src/platform/thread-hash.ts sends them, and answers those with an id by {id, value} or {id, error}. Files are open
// already: it gets their descriptors.
import { createHash } from 'node:crypto';
import { readSync, writeSync } from 'node:fs';
import { setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';

// On Linux each thread has a priority of its own. Elsewhere this would slow the whole process.
if (process.platform === 'linux') setPriority(15);

const hashes = new Map();
const buffer = Buffer.allocUnsafe(256 * 1024);

const ops = {
  begin({ hash, from }) {
    hashes.set(hash, from === undefined ? createHash('sha256') : hashOf(from).copy());
  },
  drop({ hash }) {
    hashes.delete(hash);
  },
  update({ memory, length, ...beside }) {
    add(new Uint8Array(memory, 0, length), beside);
  },
  /** Takes the bytes of a file from `at` to `until`, or those up to its end; answers how many there were. */
  read({ fd, at, until, ...beside }) {
    let next = at;
    while (next < until) {
      const count = readSync(fd, buffer, 0, Math.min(buffer.length, until - next), next);
      if (count === 0) break;
      add(buffer.subarray(0, count), beside);
      next += count;
    }
    return next - at;
  },
  digest({ hash }) {
    const digest = hashOf(hash).digest();
    hashes.delete(hash);
    return digest;
  },
};

/** Appends bytes to a file, if there is one, and adds them to hashes. */
function add(bytes, { into, to }) {
  // A disk that is nearly full takes less than it is given, without an error.
  for (let at = 0; into !== undefined && at < bytes.length; ) at += writeSync(into, bytes, at);
  for (const hash of to) hashOf(hash).update(bytes);
}

function hashOf(id) {
  const hash = hashes.get(id);
  if (hash === undefined) throw new Error('the thread of this hash has ended');
  return hash;
}

parentPort.on('message', ({ id, op, ...asked }) => {
  try {
    const value = ops[op](asked);
    if (id !== undefined) parentPort.postMessage({ id, value });
  } catch ({ message, code, syscall }) {
    // An error that is posted whole loses what the system said.
    const told = syscall === undefined ? {} : { code, syscall };
    parentPort.postMessage({ id, error: { message, ...told } });
  }
});
