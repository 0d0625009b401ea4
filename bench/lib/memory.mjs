import { readdirSync, readFileSync } from 'node:fs';

const intervalMillis = 50;

/** Resident memory of a process, bytes. Linux only; elsewhere NaN. */
export function residentBytes(pid) {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
  } catch {
    return Number.NaN;
  }
}

/** Samples the resident memory of a process while `work` runs. */
export const watchMemory = (pid, work) => watch(() => residentBytes(pid), work);

/** The same of a process and all below it; what they share is counted once. */
export const watchTree = (pid, work) => watch(() => treeBytes(pid), work);

function treeBytes(pid) {
  const processes = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ({ pid: Number(name), parent: parentOf(name) }));
  const sum = (of) =>
    processes
      .filter(({ parent }) => parent === of)
      .reduce((bytes, child) => bytes + sum(child.pid), proportionalBytes(of));
  return sum(pid);
}

function proportionalBytes(pid) {
  try {
    const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
    return Number(/^Pss:\s+(\d+) kB$/m.exec(rollup)?.[1]) * 1024;
  } catch {
    return 0;
  }
}

function parentOf(pid) {
  try {
    // The name before it may hold spaces and parentheses.
    return Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1).split(' ')[1]);
  } catch {
    return undefined;
  }
}

async function watch(measure, work) {
  const beforeBytes = measure();
  const samples = [];
  const timer = setInterval(() => samples.push(measure()), intervalMillis);
  try {
    const result = await work();
    samples.push(measure());
    const third = Math.max(1, Math.floor(samples.length / 3));
    return {
      result,
      beforeBytes,
      peakBytes: Math.max(...samples),
      firstThirdBytes: Math.max(...samples.slice(0, third)),
      lastThirdBytes: Math.max(...samples.slice(-third)),
    };
  } finally {
    clearInterval(timer);
  }
}
