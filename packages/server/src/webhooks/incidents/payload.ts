import { AppError, invalidInput } from '../../kernel/errors.ts';

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
