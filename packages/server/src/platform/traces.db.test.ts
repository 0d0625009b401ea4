import pino from 'pino';
import { afterAll, expect, test } from 'vitest';
import { answer, type Receiver, startReceiver } from '../../test/receiver.ts';
import { startTestService } from '../../test/service.ts';

// It fails the first attempt, so that the second one comes out of the queue.
const receiver = await startReceiver({ behave: ({ number }) => answer(number === 1 ? 503 : 204) });
const collector = await startReceiver({
  behave: () => answer(200, { headers: { 'content-type': 'application/json' }, body: '{}' }),
});
afterAll(() => Promise.all([receiver.close(), collector.close()]));

test('one trace leads from the request of the pipeline through the queue to each attempt', async () => {
  const service = await startTestService({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url('/'),
    SVC_ALLOW_TARGETS: '127.0.0.0/8',
  });
  const made = await service.call('POST', '/webhook/endpoints', {
    body: { tenant: 'T', url: receiver.url('/secret-path?key=secret'), event_types: ['*'] },
  });
  const [traced, unsampled] = ['a'.repeat(32), 'b'.repeat(32)];
  const report = (traceparent: string) =>
    service.call('POST', '/incidents', {
      body: { tenant: 'T', type: 'incident.created', data: {} },
      headers: { traceparent },
    });
  const reported = await report(`00-${traced}-${'1'.repeat(16)}-01`);
  const [delivery] = reported.json.deliveries;
  const status = async () => (await service.call('GET', `/webhook/dlq/${delivery.id}`)).json.status;
  await expect.poll(status, { timeout: 120_000 }).toBe('pending');
  await service.call('POST', `/webhook/dlq/${delivery.id}/retry`);
  await expect.poll(status, { timeout: 120_000 }).toBe('delivered');
  // Its sender has decided that it is not recorded, and that holds for the attempt, too.
  await report(`00-${unsampled}-${'2'.repeat(16)}-00`);
  await receiver.waitFor(3);
  await service.stop();

  const spans = readSpans(collector);
  const [request, first, second, ...more] = spans.filter((span) => span.traceId === traced);
  expect(more).toEqual([]);
  expect(request).toMatchObject({
    name: 'POST /api/v1/incidents',
    kind: 2,
    parentSpanId: '1'.repeat(16),
    attributes: {
      'http.request.method': 'POST',
      'http.response.status_code': 202,
      'http.route': '/api/v1/incidents',
      'url.path': '/api/v1/incidents',
      'svcctl.request_id': reported.headers.get('x-request-id'),
    },
  });
  const sent = {
    name: 'deliver webhook',
    kind: 3,
    parentSpanId: request?.spanId,
    attributes: {
      'http.request.method': 'POST',
      'server.address': '127.0.0.1',
      'server.port': receiver.port,
      'svcctl.tenant': 'T',
      'svcctl.endpoint_id': made.json.id,
      'svcctl.delivery_id': delivery.id,
      'svcctl.incident_id': reported.json.id,
      'svcctl.request_id': reported.headers.get('x-request-id'),
    },
  };
  expect(first).toMatchObject(sent);
  expect(first).toMatchObject({
    status: { code: 2 },
    attributes: { 'svcctl.attempt': 1, 'http.response.status_code': 503, 'error.type': 'status' },
  });
  expect(second).toMatchObject(sent);
  expect(second).toMatchObject({
    status: { code: 0 },
    attributes: { 'svcctl.attempt': 2, 'http.response.status_code': 204 },
  });
  expect(second?.attributes['svcctl.queue.wait_ms']).toBeGreaterThanOrEqual(0);
  expect(spans.filter((span) => span.traceId === unsampled)).toEqual([]);
  // Requests that nobody has traced begin a trace of their own; health and the console's files make none.
  expect(spans.map(({ name }) => name)).toContain('POST /api/v1/webhook/dlq/:id/retry');
  expect(spans.filter(({ name }) => !/ \/api\/v1\/|^deliver webhook$/.test(name))).toEqual([]);
  const bodies = collector.requests.map(({ body }) => body).join('\n');
  expect(bodies).not.toContain('secret');
  expect(bodies).toContain('"service.name","value":{"stringValue":"svcctl"}');
});

test('a collector that is away holds up neither requests nor the stop', async () => {
  const lines: string[] = [];
  const service = await startTestService(
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' },
    pino({ level: 'warn' }, { write: (line) => void lines.push(line) }),
  );
  expect((await service.call('GET', '/me')).status).toBe(200);
  await service.stop();
  expect(lines.join('')).toContain('the last traces could not be sent');
});

type Attribute = { key: string; value: Record<string, unknown> };
type Sent = {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  status: { code: number };
  attributes: Attribute[];
};

/** The spans that came, by the time at which they began (opentelemetry-proto, ExportTraceServiceRequest as JSON). */
function readSpans({ requests }: Receiver) {
  const exports: { resourceSpans: { scopeSpans: { spans: Sent[] }[] }[] }[] = requests
    .filter(({ method, path }) => method === 'POST' && path === '/v1/traces')
    .map(({ body }) => JSON.parse(body));
  return exports
    .flatMap(({ resourceSpans }) => resourceSpans)
    .flatMap(({ scopeSpans }) => scopeSpans)
    .flatMap(({ spans }) => spans)
    .sort((a, b) => Number(BigInt(a.startTimeUnixNano) - BigInt(b.startTimeUnixNano)))
    .map((span) => ({
      ...span,
      attributes: Object.fromEntries(
        span.attributes.map(({ key, value }) => [key, Object.values(value)[0]]),
      ),
    }));
}
