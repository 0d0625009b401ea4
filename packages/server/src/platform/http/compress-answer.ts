import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';

const gzipText = promisify(gzip);

/** An answer shorter than this is not compressed, because the headers would cost as much as is saved. */
const leastBytes = 1024;
// Level 4 takes half the time of level 6, for 5 % more bytes.
const options = { level: 4, strategy: constants.Z_DEFAULT_STRATEGY };

/**
 * Returns whether this is an answer that `compressAnswer` compresses: whole text, and an answer to a reading call.
 * Secrets are shown once, by the call that makes them, and the length of a compressed answer tells something about what
 * stands beside a secret in it (the BREACH attack). Streams, such as exports, are compressed by the code that makes
 * them.
 */
export function mayCompress(
  { method }: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): payload is string {
  if ((method !== 'GET' && method !== 'HEAD') || typeof payload !== 'string') return false;
  return /^text\/|[/+]json\b/.test(String(reply.getHeader('content-type') ?? ''));
}

/** Compresses an answer with gzip for clients that accept it. */
export async function compressAnswer(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  payload: string,
): Promise<string | Buffer> {
  reply.header('vary', 'accept-encoding');
  if (payload.length < leastBytes || !acceptsCoding(headers['accept-encoding'], 'gzip')) {
    return payload;
  }
  reply.header('content-encoding', 'gzip').removeHeader('content-length');
  return gzipText(payload, options);
}

/**
 * Returns whether an Accept-Encoding header accepts a coding (RFC 9110, 12.5.3). `q=0` refuses it, and a coding that is
 * named counts before the star.
 */
export function acceptsCoding(header: string | string[] | undefined, coding: string): boolean {
  const weights = new Map<string, number>();
  for (const part of String(header ?? '')
    .toLowerCase()
    .split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim());
    const weight = parameters.find((parameter) => parameter.startsWith('q='));
    weights.set(name, weight === undefined ? 1 : Number(weight.slice(2)));
  }
  return (weights.get(coding) ?? weights.get('*') ?? 0) > 0;
}
