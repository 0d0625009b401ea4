import type { FastifyRequest } from 'fastify';
import type { ErrorCode, errorCatalogue } from '../../kernel/errors.ts';
import { once } from '../../kernel/once.ts';
import { basePath } from '../../kernel/values.ts';
import { buildOpenApi, type OpenApiDocument } from './openapi.ts';
import { referenceCss, referencePagePolicy, renderReferencePage } from './reference-page.ts';
import type { HttpServer } from './server.ts';
import { faultCodes } from './validate.ts';

type OriginOptions = {
  /** The version of this release. */
  version: string;
  /** Throws an AppError unless requests can be served now. Returns what is wrong although they can. */
  findWarnings(): Promise<readonly ErrorCode[]>;
  errors: typeof errorCatalogue;
  rejectCodes: Readonly<Record<string, string>>;
  /** What the service sends, as `webhooks` of OpenAPI has it; null for whoever may not read that. */
  findWebhooks(request: FastifyRequest): Promise<OpenApiDocument['webhooks'] | null>;
};

/** Adds what is below the origin and needs no token: health, the reference and the OpenAPI document. */
export function addOriginRoutes(http: HttpServer, options: OriginOptions): void {
  const { fastify } = http;
  // Made for the first who asks, and kept: at every start it would take a tenth of its time, and making it again for
  // each request would let a flood of requests cost much time.
  const describeApi = once(() => buildOpenApi(http.contracts, { version: options.version }));
  const openApiText = once(() => JSON.stringify(describeApi()));
  const page = once(() =>
    renderReferencePage(describeApi(), {
      errors: options.errors,
      faultCodes,
      rejectCodes: options.rejectCodes,
    }),
  );

  fastify.get('/healthz', async () => ({ status: 'ok' }));
  fastify.get('/readyz', async () => {
    const warnings = (await options.findWarnings()).map((code) => ({
      code,
      // Whoever asks without a token learns only the title, because the detail names places.
      title: options.errors[code].title,
    }));
    return { status: 'ready', ...(warnings.length > 0 && { warnings }) };
  });
  fastify.get(`${basePath}/openapi.json`, async (request, reply) => {
    reply.type('application/json; charset=utf-8').header('vary', 'authorization, cookie');
    const webhooks = await options.findWebhooks(request);
    return webhooks === null ? openApiText() : JSON.stringify({ ...describeApi(), webhooks });
  });
  fastify.get('/docs', async (_request, reply) => {
    reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', referencePagePolicy)
      .header('x-content-type-options', 'nosniff');
    return page();
  });
  fastify.get('/docs/style.css', async (_request, reply) => {
    reply.type('text/css; charset=utf-8');
    return referenceCss;
  });
}
