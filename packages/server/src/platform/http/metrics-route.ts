import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyRequest } from 'fastify';
import type { Metrics } from '../metrics/metrics.ts';
import type { HttpServer } from './server.ts';

const path = '/metrics';

/** Adds the metrics to the routes of the origin. `admit` throws 401 or 403 unless the caller may read them. */
export function addMetricsRoute(
  { fastify }: HttpServer,
  { metrics, admit }: { metrics: Metrics; admit: (request: FastifyRequest) => Promise<void> },
): void {
  fastify.get(path, async (request, reply) => {
    await admit(request);
    reply.type(metrics.registry.contentType);
    return metrics.registry.metrics();
  });
}

/** More than a few servers that scrape are somebody else. */
const mostConnections = 64;

/**
 * Serves the metrics, and nothing else, on a port of their own. They need no token there: who may connect is decided by
 * the address that it listens on. `url` is where they are.
 */
export async function serveMetrics(
  metrics: Metrics,
  { host, port }: { host: string; port: number },
): Promise<{ url: string; close: () => Promise<void> }> {
  const server = createServer(
    { requestTimeout: 15_000, keepAliveTimeout: 72_000 },
    (request, response) => {
      const isFound = request.url?.split('?')[0] === path;
      const isRead = request.method === 'GET' || request.method === 'HEAD';
      if (!isFound || !isRead) {
        response.writeHead(isFound ? 405 : 404, { 'content-type': 'text/plain' });
        response.end(`There is only GET ${path} on this port.\n`);
        return;
      }
      metrics.registry.metrics().then(
        (text) => {
          response.writeHead(200, { 'content-type': metrics.registry.contentType });
          response.end(text);
        },
        () => response.writeHead(500).end(),
      );
    },
  );
  server.maxConnections = mostConnections;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const address = server.address() as AddressInfo;
  const name = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return {
    url: `http://${name}:${address.port}${path}`,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
