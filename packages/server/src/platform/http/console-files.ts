import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fastifyStatic from '@fastify/static';
import { AppError } from '../../kernel/errors.ts';
import type { HttpServer } from './server.ts';

/** In the package the files lie beside the service's own (scripts/pack.mjs), in the repository where they are built. */
const isPackage = import.meta.url.includes('/node_modules/');
const filesDir = fileURLToPath(
  new URL(isPackage ? '../../../console/' : '../../../../console/dist/', import.meta.url),
);

/**
 * No other hosts, and of inline scripts only that of the page itself, which is told by its hash. Inline styles are allowed:
 * the components place things with style attributes.
 */
function policyFor(page: string): string {
  const hashes = Array.from(page.matchAll(/<script>(.*?)<\/script>/gs), ([, script = '']) => {
    return ` 'sha256-${createHash('sha256').update(script).digest('base64')}'`;
  });
  return [
    "default-src 'none'",
    `script-src 'self'${hashes.join('')}`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
  ].join('; ');
}

/**
 * Serves the files of the console. Those under assets/ carry a hash in their name, so browsers keep them for a year. If
 * the console was not built, the origin leads to the reference instead. The portal is the same page at a path of its own:
 * only there may pages of these origins have it in a frame.
 */
export function addConsole({ fastify }: HttpServer, portalOrigins: readonly string[]): void {
  const page = join(filesDir, 'index.html');
  if (!existsSync(page)) {
    fastify.get('/', async (_request, reply) => reply.redirect('/docs'));
    return;
  }
  const policy = policyFor(readFileSync(page, 'utf8'));
  const securityHeaders = {
    'content-security-policy': `${policy}; frame-ancestors 'none'`,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
  };
  fastify.register(fastifyStatic, {
    root: filesDir,
    serve: false,
    cacheControl: false,
    // The build writes the compressed files beside the others.
    preCompressed: true,
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
  const pages = readdirSync(filesDir).filter((name) => /\.(html|svg|txt)$/.test(name));
  for (const name of pages) fastify.get(`/${name}`, async (_, reply) => reply.sendFile(name));
  fastify.get('/', async (_, reply) => reply.sendFile('index.html'));
  // One route for all scripts: with one for each of them a start took 33 ms of CPU time, and takes 6.
  const assets = new Set(
    readdirSync(join(filesDir, 'assets')).filter((name) => !/\.(br|gz)$/.test(name)),
  );
  fastify.get<{ Params: { name: string } }>('/assets/:name', async ({ params }, reply) => {
    if (assets.has(params.name)) return reply.sendFile(`assets/${params.name}`);
    throw new AppError('route_not_found', { detail: 'The console has no such file.' });
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
