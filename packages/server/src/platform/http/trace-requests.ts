import type { Traces } from '../traces.ts';
import { basePath, type HttpServer } from './server.ts';

/**
 * Makes a span of each request to the API, in the trace that its `traceparent` names. Names and attributes are those of
 * OpenTelemetry's conventions for HTTP servers. The query is left out, since it names what an operator looks for.
 */
export function traceRequests({ fastify }: HttpServer, traces: Traces): void {
  fastify.addHook('onRequest', (request, { raw: answer }, done) => {
    const route = request.routeOptions.url;
    if (route?.startsWith(`${basePath}/`)) {
      const parent = request.headers.traceparent;
      const span = traces.begin(`${request.method} ${route}`, {
        kind: 'server',
        parent: typeof parent === 'string' ? parent : null,
        attributes: {
          'http.request.method': request.method,
          'http.route': route,
          'url.path': request.url.split('?')[0],
          'url.scheme': request.protocol,
          'svcctl.request_id': request.id,
        },
      });
      request.traceParent = span.traceParent;
      // An answer that was broken off has no end of its own, but it is always closed.
      answer.once('close', () => {
        const { statusCode: status, writableFinished: isWhole } = answer;
        const error = status >= 500 ? String(status) : isWhole ? null : 'broken_off';
        span.end({ 'http.response.status_code': status }, error);
      });
    }
    done();
  });
}
