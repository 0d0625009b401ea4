import type { FastifyRequest } from 'fastify';

/** RFC 7240: whether the client would rather have a job than wait. */
export function prefersAsync(request: FastifyRequest): boolean {
  return String(request.headers.prefer ?? '')
    .split(',')
    .some((preference) => /^\s*respond-async\s*(;|$)/i.test(preference));
}
