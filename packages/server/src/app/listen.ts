import { setTimeout } from 'node:timers/promises';
import { AppError } from '../kernel/errors.ts';
import { serveMetrics } from '../platform/http/metrics-route.ts';
import type { HttpServer } from '../platform/http/server.ts';
import type { Host } from './host.ts';

/** Takes requests from now on. Throws `settings_invalid` when another program listens there. */
export async function listen(
  { fastify }: HttpServer,
  { settings }: Pick<Host, 'settings'>,
): Promise<void> {
  // `localhost` has several addresses. Fastify would open one server for each, and only the first would have our
  // guards.
  const host = settings.host === 'localhost' ? '127.0.0.1' : settings.host;
  await fastify.listen({ host, port: settings.port }).catch(refusePort('SVC_PORT'));
}

/** Serves the metrics on a port of their own, if the settings say so. Returns where. */
export async function listenForMetrics({
  settings: { metricsHost: host, metricsPort: port },
  metrics,
  closers,
}: Pick<Host, 'settings' | 'metrics' | 'closers'>): Promise<string | null> {
  if (port === undefined) return null;
  const { url, close } = await serveMetrics(metrics, { host, port }).catch(
    refusePort('SVC_METRICS_PORT'),
  );
  closers.push(close);
  return url;
}

/** Still serves for a while, and has each answer close its connection; see `leave` of `Service`. */
export async function leave(
  http: HttpServer,
  { settings, log }: Pick<Host, 'settings' | 'log'>,
  hurry: AbortSignal,
): Promise<void> {
  const seconds = settings.roles.includes('api') ? settings.shutdownLeadSeconds : 0;
  http.leave();
  if (seconds === 0) return;
  log.info({ seconds }, 'leaving: serves until load balancers have noticed');
  // It rejects when the signal aborts, which only means that the time is over.
  await setTimeout(seconds * 1000, undefined, { signal: hurry }).catch(() => {});
  log.info('stopping');
}

const refusePort =
  (setting: string) =>
  (error: unknown): never => {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') {
      throw new AppError('settings_invalid', {
        detail: `${error.message}. Another program listens there: stop it, or set ${setting}.`,
      });
    }
    throw error;
  };
