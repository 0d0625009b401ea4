import { createHash } from 'node:crypto';

/** The parts of a report that make two reports under one idempotency key the same. */
export type IncidentReport = {
  tenant: string;
  store?: string;
  group?: string;
  type: string;
  occurred_at?: string;
  data: unknown;
};

/** The byte in front of the hash tells how that is made. */
const version = Buffer.of(2);

/**
 * The digest of a report. The order of keys does not matter, since a caller may build its body anew. Times and numbers
 * count as they are spelled, because receivers get them so. `source` is `data` as JSON text without white space between
 * its tokens.
 */
export function requestDigest(
  report: IncidentReport,
  source = JSON.stringify(report.data),
): Buffer {
  const { tenant, store = null, type, occurred_at = null, group } = report;
  // A report without a group has the digest that it had before there were any.
  const head = JSON.stringify([tenant, store, type, occurred_at, ...(group ? [group] : [])]);
  const hash = createHash('sha256').update(head).update(canonicalSource(source)).digest();
  return Buffer.concat([version, hash]);
}

/**
 * Rewrites valid JSON with the keys of objects in the order of UTF-16 units and each string in one spelling. Numbers
 * stay as they are, and so does a key that occurs twice.
 */
function canonicalSource(source: string): string {
  let position = 0;
  const readString = () => {
    const start = position;
    position += 1;
    while (source[position] !== '"') position += source[position] === '\\' ? 2 : 1;
    position += 1;
    const spelled = source.slice(start, position);
    return spelled.includes('\\') ? JSON.stringify(JSON.parse(spelled)) : spelled;
  };
  /** Reads everything between two brackets, one item at a time, with the commas and the closing bracket. */
  const readAll = <T>(readOne: () => T): T[] => {
    const all: T[] = [];
    position += 1;
    while (source[position] !== ']' && source[position] !== '}') {
      all.push(readOne());
      if (source[position] === ',') position += 1;
    }
    position += 1;
    return all;
  };
  const readMemberOf = (): [string, string] => {
    const key = readString();
    position += 1;
    return [key, readValue()];
  };
  const readValue = (): string => {
    const first = source[position];
    if (first === '"') return readString();
    if (first === '[') return `[${readAll(readValue).join()}]`;
    if (first === '{') {
      const members = readAll(readMemberOf).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
      return `{${members.map(([key, value]) => `${key}:${value}`).join()}}`;
    }
    const start = position;
    while (position < source.length && !',]}'.includes(source[position] ?? '')) position += 1;
    return source.slice(start, position);
  };
  return readValue();
}
