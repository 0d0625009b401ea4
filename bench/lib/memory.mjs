import { readFileSync } from 'node:fs';

const intervalMs = 50;

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
export async function watchMemory(pid, work) {
  const beforeBytes = residentBytes(pid);
  const samples = [];
  const timer = setInterval(() => samples.push(residentBytes(pid)), intervalMs);
  try {
    const result = await work();
    samples.push(residentBytes(pid));
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
