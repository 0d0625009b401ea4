import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import type { HttpServer } from './server.ts';

/** In the package the files lie beside the service's own (scripts/pack.mjs), in the repository where they are built. */
const isPackage = import.meta.url.includes('/node_modules/');
const filesDir = fileURLToPath(
  new URL(isPackage ? '../../../console/' : '../../../../console/dist/', import.meta.url),
);

/** No other hosts, no inline scripts. Inline styles are allowed: the components place things with style attributes. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
].join('; ');

const securityHeaders = {
  'content-security-policy': `${policy}; frame-ancestors 'none'`,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
};

/**
 * Serves the files of the console. Those under assets/ carry a hash in their name, so browsers keep them for a year. If
 * the console was not built, the origin leads to the reference instead. The portal is the same page at a path of its own:
 * only there may pages of these origins have it in a frame.
 */
export function addConsole({ fastify }: HttpServer, portalOrigins: readonly string[]): void {
  if (!existsSync(filesDir)) {
    fastify.get('/', async (_request, reply) => reply.redirect('/docs'));
    return;
  }
  fastify.register(fastifyStatic, {
    root: filesDir,
    wildcard: false,
    cacheControl: false,
    // The build writes the compressed files beside the others.
    preCompressed: true,
    globIgnore: ['**/*.br', '**/*.gz', '.built'],
    setHeaders(response, path) {
      for (const [name, value] of Object.entries(securityHeaders)) response.setHeader(name, value);
      response.setHeader('vary', 'accept-encoding');
      const isHashed = path.includes('/assets/');
      response.setHeader(
        'cache-control',
        isHashed ? 'public, max-age=31536000, immutable' : 'no-cache',
      );
    },
  });
  const ancestors = portalOrigins.length === 0 ? "'none'" : portalOrigins.join(' ');
  fastify.get('/portal', async (_request, reply) => {
    reply.headers({
      ...securityHeaders,
      'content-security-policy': `${policy}; frame-ancestors ${ancestors}`,
      'cache-control': 'no-cache',
    });
    return reply.sendFile('index.html');
  });
}
