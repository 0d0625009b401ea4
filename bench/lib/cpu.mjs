import { readdirSync, readFileSync } from 'node:fs';

/** Clock ticks of /proc are of 10 ms on every Linux there is. */
const tickMillis = 10;

/** CPU time of a process and of all below it, those that have ended included, in milliseconds. Linux only. */
export function treeCpuMillis(pid) {
  const children = new Map();
  const ticks = new Map();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const fields = statOf(name);
    if (fields === null) continue;
    // After the name, which may hold spaces: the state, the parent, …, utime, stime, cutime, cstime as 14th to 17th.
    const parent = Number(fields[1]);
    children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
    ticks.set(
      Number(name),
      fields.slice(11, 15).reduce((sum, value) => sum + Number(value), 0),
    );
  }
  const sum = (of) =>
    (children.get(of) ?? []).reduce((all, child) => all + sum(child), ticks.get(of) ?? 0);
  return sum(pid) * tickMillis;
}

function statOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? null;
  } catch {
    return null;
  }
}
