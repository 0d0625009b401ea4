import { hostname } from 'node:os';
import type { Attributes } from '@opentelemetry/api';
import type { Log } from './log.ts';
import { unlessAborted } from './work/unless-aborted.ts';

/** A piece of work that is under way. */
export type Span = {
  /** Names it as the parent of other work, in this process or another: `traceparent` of W3C Trace Context. */
  readonly traceParent: string;
  /** Ends it. `error` is a short word for why it failed, null if it did not. */
  end(attributes: Attributes, error: string | null): void;
};

export type Traces = {
  /** Begins work served or sent; `parent` is the `traceparent` that led to it, without which it begins a trace. */
  begin(
    name: string,
    about: { kind: 'server' | 'client'; parent: string | null | undefined; attributes: Attributes },
  ): Span;
  /** Sends what has ended, and waits for that at most two seconds. */
  stop(): Promise<void>;
};

const stopMillis = 2000;
/** A collector that is away is told of once in this time, and not with each batch. */
const quietMillis = 60_000;

/**
 * Opens the sending of traces to an OTLP collector at `endpoint` (JSON over HTTP). The libraries are loaded here,
 * because most processes need none of them. They read what else the OpenTelemetry specification has variables for:
 * headers, certificates, the sampler, the size of batches, the resource. What cannot be sent is dropped: nothing waits
 * for a collector.
 */
export async function openTraces(
  endpoint: string,
  { version, roles, log }: { version: string; roles: readonly string[]; log: Log },
): Promise<Traces> {
  const [api, core, resources, sdk, { OTLPTraceExporter }] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/core'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/sdk-trace-base'),
    import('@opentelemetry/exporter-trace-otlp-http'),
  ]);
  const url = `${endpoint.replace(/\/$/, '')}/v1/traces`;
  const warn = atMostOnceIn(quietMillis, (text: string) =>
    log.warn({ reason: text }, 'traces could not be sent'),
  );
  const silent = () => {};
  api.diag.setLogger({ error: warn, warn, info: silent, debug: silent, verbose: silent });
  const own = resources.resourceFromAttributes({
    'service.name': 'svcctl',
    'service.version': version,
    'host.name': hostname(),
    'process.pid': process.pid,
    'svcctl.roles': [...roles],
  });
  // The operator's own words, OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES, come last and win.
  const given = resources.detectResources({ detectors: [resources.envDetector] });
  const provider = new sdk.BasicTracerProvider({
    resource: resources.defaultResource().merge(own).merge(given),
    spanProcessors: [new sdk.BatchSpanProcessor(new OTLPTraceExporter({ url }))],
  });
  const tracer = provider.getTracer('svcctl', version);
  const kinds = { server: api.SpanKind.SERVER, client: api.SpanKind.CLIENT };
  return {
    begin(name, { kind, parent, attributes }) {
      const remote = core.parseTraceParent(parent ?? '');
      const context =
        remote === null
          ? api.ROOT_CONTEXT
          : api.trace.setSpanContext(api.ROOT_CONTEXT, { ...remote, isRemote: true });
      const span = tracer.startSpan(name, { kind: kinds[kind], attributes }, context);
      const { traceId, spanId, traceFlags } = span.spanContext();
      return {
        traceParent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`,
        end(ended, error) {
          span.setAttributes(ended);
          if (error !== null) {
            span.setAttribute('error.type', error);
            span.setStatus({ code: api.SpanStatusCode.ERROR });
          }
          span.end();
        },
      };
    },
    async stop() {
      const late = AbortSignal.timeout(stopMillis);
      await unlessAborted(provider.shutdown(), late).catch((error) =>
        log.warn({ err: error }, 'the last traces could not be sent'),
      );
      api.diag.disable();
    },
  };
}

/** The trace that a `traceparent` is of, as it is searched for. */
export function traceIdOf(traceParent: string): string {
  return traceParent.slice(3, 35);
}

function atMostOnceIn<T>(millis: number, tell: (what: T) => void): (what: T) => void {
  let until = Number.NEGATIVE_INFINITY;
  return (what) => {
    if (performance.now() < until) return;
    until = performance.now() + millis;
    tell(what);
  };
}
