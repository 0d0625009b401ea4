import { readdirSync, readFileSync } from 'node:fs';

const intervalMillis = 50;
/** Clock ticks of /proc are of 10 ms on every Linux there is. */
const tickMillis = 10;

/** Resident memory of a process, bytes. Linux only, as all of this file; elsewhere NaN. */
export const residentBytes = (pid) => bytesOf(pid, 'status', 'VmRSS');

/** Samples the resident memory of a process while `work` runs. */
export const watchMemory = (pid, work) => watch(() => residentBytes(pid), work);

/** The same of a process and all below it; what they share is counted once. `ownBytes` is what it has itself at the peak. */
export async function watchTree(pid, work) {
  let [peakBytes, ownBytes] = [0, 0];
  const measure = () => {
    const parts = new Map();
    const bytes = sumOfTree(pid, (of) => {
      parts.set(of, bytesOf(of, 'smaps_rollup', 'Pss') || 0);
      return parts.get(of);
    });
    if (bytes > peakBytes) [peakBytes, ownBytes] = [bytes, parts.get(pid)];
    return bytes;
  };
  const watched = await watch(measure, work);
  return { ...watched, ownBytes };
}

const ticks = (stat, from, until) =>
  stat.slice(from, until).reduce((sum, value) => sum + Number(value), 0) * tickMillis;
const statOf = (pid) => read(pid, 'stat').split(') ').at(-1).split(' ');

/** CPU time of a process alone, in milliseconds. */
export const ownCpuMillis = (pid) => ticks(statOf(pid), 11, 13);

/** CPU time of its children that have ended, in milliseconds. */
export const endedCpuMillis = (pid) => ticks(statOf(pid), 13, 15);

/** CPU time of a process and of all below it, those that have ended included, in milliseconds. */
export function treeCpuMillis(pid) {
  // utime, stime, cutime and cstime.
  return sumOfTree(pid, (_pid, stat) => ticks(stat, 11, 15));
}

/** Adds up what `measure` answers for a process and for all below it; `stat` is its state, its parent, and so on. */
function sumOfTree(root, measure) {
  const processes = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    // The name before these fields may hold spaces and parentheses.
    .map((name) => ({ pid: Number(name), stat: statOf(name) }));
  const sum = ({ pid, stat }) =>
    processes
      .filter((other) => Number(other.stat[1]) === pid)
      .reduce((all, child) => all + sum(child), measure(pid, stat));
  return sum(processes.find(({ pid }) => pid === root) ?? { pid: root, stat: [] });
}

function bytesOf(pid, file, field) {
  const found = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(read(pid, file));
  return Number(found?.[1]) * 1024;
}

function read(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
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
