import { createHash } from 'node:crypto';
import { AppError, invalidInput } from '../../kernel/errors.ts';

/** What makes two reports under one idempotency key the same. */
export type IncidentReport = {
  tenant: string;
  store?: string;
  type: string;
  occurred_at?: string;
  data: unknown;
};

/** In front of the hash. Until 0.1.0 there was none, and the hash was of `data` as JSON.parse reads it. */
const version = Buffer.of(2);
const hashBytes = 32;

/**
 * SHA-256 of the report's content. The order of keys does not matter, as it does not in JSON: a caller
 * that builds its body anew for a second try may get another one. Times and numbers count as they are
 * spelled, since receivers get them so: JSON.parse takes 9007199254740993 for …992. `source` is `data` as
 * JSON text without white space between its tokens.
 */
export function requestDigest(
  report: IncidentReport,
  source = JSON.stringify(report.data),
): Buffer {
  return Buffer.concat([version, hashOf(report, canonicalSource(source))]);
}

/** Whether the report under a key is the one that was stored under it, by whichever version. */
export function isSameRequest(stored: Buffer, digest: Buffer, report: IncidentReport): boolean {
  return stored.equals(
    stored.length === hashBytes ? hashOf(report, canonicalJson(report.data)) : digest,
  );
}

function hashOf({ tenant, store, type, occurred_at }: IncidentReport, data: string): Buffer {
  const head = JSON.stringify([tenant, store ?? null, type, occurred_at ?? null]);
  return createHash('sha256').update(head).update(data).digest();
}

/**
 * The same JSON with its keys in the order of their UTF-16 units and its strings in one spelling; numbers
 * stay as they are. A key that stands twice stays twice, in its order.
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
  /** What stands between brackets: `readOne` for each, past the commas and the closing one. */
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

/** JSON without white space, keys in the order of their UTF-16 units (as in RFC 8785). */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
  return `{${members.join()}}`;
}

/** What receivers get. */
export type Payload = { type: string; timestamp: string; data: unknown };

/** Receivers' own parsers give up at about a thousand; JSON.stringify at some thousands. */
const maxDepth = 500;

/**
 * The body of every delivery of an incident. `source` is the data as JSON text, as it was sent: numbers
 * keep their digits. U+0000 and half surrogate pairs in it are escapes, so any text column holds it.
 * Throws 400 `request_invalid`, 413 `body_too_large`.
 */
export function payloadText(payload: Payload, maxBytes: number, source?: string): string {
  if (isDeeper(payload.data, maxDepth)) {
    throw invalidInput('/data', `is nested more than ${maxDepth} levels deep`);
  }
  const { type, timestamp, data } = payload;
  const head = JSON.stringify({ type, timestamp });
  const text = `${head.slice(0, -1)},"data":${source ?? JSON.stringify(data)}}`;
  const sizeBytes = Buffer.byteLength(text);
  if (sizeBytes > maxBytes) {
    throw new AppError('body_too_large', {
      detail: `The payload {"type","timestamp","data"} has ${sizeBytes} bytes of ${maxBytes} allowed. Send less data, or a link to it.`,
    });
  }
  return text;
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((part) => isDeeper(part, levels - 1));
}
