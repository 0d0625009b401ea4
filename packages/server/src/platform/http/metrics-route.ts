import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { AppError } from '../../kernel/errors.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { isLoopback } from './client-address.ts';
import type { HttpServer } from './server.ts';

const path = '/metrics';

/**
 * Adds the metrics to the routes of the origin. `admit` throws 401 or 403 unless the caller may read them. Throws 421
 * `host_refused` to who names another host than this machine or the service.
 */
export function addMetricsRoute(
  { fastify }: HttpServer,
  options: {
    metrics: Metrics;
    publicUrl: string | undefined;
    admit: (request: FastifyRequest) => Promise<void>;
  },
): void {
  const { metrics, publicUrl, admit } = options;
  fastify.get(path, async (request, reply) => {
    if (!isOwnHost(request.headers.host, publicUrl)) {
      throw new AppError('host_refused', {
        detail:
          'The metrics are served for localhost and the host of SVC_PUBLIC_URL only. Elsewhere set SVC_METRICS_PORT and SVC_METRICS_HOST.',
      });
    }
    await admit(request);
    reply.type(metrics.registry.contentType);
    return metrics.read();
  });
}

/** Whether a Host header names this machine, or the service itself. */
function isOwnHost(host: string | undefined, publicUrl: string | undefined): boolean {
  if (host === undefined || !URL.canParse(`http://${host}`)) return false;
  const { hostname } = new URL(`http://${host}`);
  return (
    hostname === 'localhost' ||
    isLoopback(hostname.replace(/^\[|\]$/g, '')) ||
    (publicUrl !== undefined && hostname === new URL(publicUrl).hostname)
  );
}

/** More than a few servers that scrape are somebody else. */
const mostConnections = 64;

/**
 * Serves the metrics, and nothing else, on a port of their own. They need no token there: who may connect is decided by
 * the address that it listens on. On this machine's own, a request must also name this machine: a page in a browser on
 * it could have its own name lead here. `url` is where they are.
 */
export async function serveMetrics(
  metrics: Metrics,
  { host, port }: { host: string; port: number },
): Promise<{ url: string; close: () => Promise<void> }> {
  const server = createServer(
    { requestTimeout: 15_000, keepAliveTimeout: 72_000 },
    (request, response) => {
      if (
        isLoopback(request.socket.localAddress ?? '') &&
        !isOwnHost(request.headers.host, undefined)
      ) {
        response.writeHead(421, { 'content-type': 'text/plain' });
        response.end('Ask for this machine by its own name: localhost.\n');
        return;
      }
      const isFound = request.url?.split('?')[0] === path;
      const isRead = request.method === 'GET' || request.method === 'HEAD';
      if (!isFound || !isRead) {
        response.writeHead(isFound ? 405 : 404, { 'content-type': 'text/plain' });
        response.end(`There is only GET ${path} on this port.\n`);
        return;
      }
      metrics.read().then(
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
