import { WebhookError } from './error.ts';
import { inMemory, type Once } from './once.ts';
import {
  concat,
  type HeaderSource,
  headerOf,
  type Secrets,
  secretKeys,
  type VerifyOptions,
  verify,
  type Webhook,
} from './verify.ts';

export type ReceiverOptions<Data = unknown, Client = undefined> = VerifyOptions & {
  readonly secrets: Secrets;
  /** Does what a webhook is for. When it throws, the service is told that, and tries again later. */
  readonly handle: (webhook: Webhook<Data>, client: Client) => unknown;
  /** Where ids are remembered, so that each webhook is handled once; `inMemory()` by default. */
  readonly once?: Once<Client>;
  /**
   * When it answers 2xx: once it is `handled` (the default), or already when it is `received` and verified. Then what
   * fails afterwards, or is lost with the process, is lost: no attempt follows a 2xx.
   */
  readonly answer?: 'handled' | 'received';
  /** Longer bodies are refused; 1 MiB by default. */
  readonly maxBytes?: number;
  /**
   * Is told of what the handler threw, and of what is wrong here, such as a body that was parsed before; console.error
   * by default. What is wrong with a request is only answered.
   */
  readonly onError?: (error: unknown) => void;
};

/** Takes webhooks, in the form that a framework wants. None of them ever rejects. */
export type Receiver = {
  /** For Express and Connect (`app.post('/webhooks', receiver.node)`) and for `createServer` of node:http. */
  readonly node: (request: NodeRequest, response: NodeResponse) => Promise<void>;
  /** For Fastify: `app.register(receiver.fastify, { path: '/webhooks' })`. */
  readonly fastify: (instance: FastifyInstance, options: { path?: string }) => Promise<void>;
  /**
   * For what has the Request and Response of fetch: Hono, Next, Bun, Deno, Workers. `context.waitUntil` keeps a worker
   * alive that answers as soon as a webhook is `received`.
   */
  readonly fetch: (request: Request, context?: object) => Promise<Response>;
};

type Answer = {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body?: string;
};

type Incoming = {
  readonly method: string | undefined;
  readonly headers: HeaderSource;
  readonly read: (maxBytes: number) => Promise<Uint8Array | string>;
  /** Is given what goes on after the answer. */
  readonly keep: (work: Promise<unknown>) => void;
};

/** Creates a receiver. Throws a WebhookError `option_invalid` where a secret is none. */
export function createReceiver<Data = unknown, Client = undefined>(
  options: ReceiverOptions<Data, Client>,
): Receiver {
  const { secrets, handle, answer = 'handled', maxBytes = 2 ** 20 } = options;
  const { onError = (error: unknown) => console.error(error) } = options;
  const once = options.once ?? (inMemory() as Once<unknown> as Once<Client>);
  // What is wrong with them is told now, and not to the first webhook.
  secretKeys(secrets);

  async function receive({ method, headers, read, keep }: Incoming): Promise<Answer> {
    try {
      if (method !== 'POST') throw new WebhookError('method_not_allowed', 'Webhooks are posted');
      if (Number(headerOf(headers, 'content-length')) > maxBytes) throw tooLarge(maxBytes);
      const body = await read(maxBytes);
      if (body.length > maxBytes) throw tooLarge(maxBytes);
      const webhook = await verify<Data>(body, headers, secrets, options);
      const work = once(webhook.id, (client) => handle(webhook, client));
      if (answer === 'handled') await work;
      else keep(work.catch(onError));
      return { status: answer === 'handled' ? 204 : 202, headers: {} };
    } catch (error) {
      if (!(error instanceof WebhookError) || error.status === 500) onError(error);
      return refusal(error);
    }
  }

  return {
    async node(request, response) {
      const { status, headers, body } = await receive(fromNode(request));
      response.writeHead(status, headers).end(body);
    },
    async fastify(instance, { path = '/' }) {
      // The parsers of the rest of the application stay as they are: a plugin has its own.
      instance.removeAllContentTypeParsers();
      instance.addContentTypeParser('*', (_request, _body, done) => done(null));
      instance.post(path, async (request, reply) => {
        const { status, headers, body } = await receive(fromNode(request.raw));
        return reply.code(status).headers(headers).send(body);
      });
    },
    async fetch(request, context) {
      const { status, headers, body } = await receive(fromFetch(request, context));
      return new Response(body ?? null, { status, headers });
    },
  };
}

/** The service keeps the beginning of an answer, and shows it to its operators: so it tells nothing of the handler. */
function refusal(error: unknown): Answer {
  const { code, message, status, retryAfterSeconds } =
    error instanceof WebhookError
      ? error
      : new WebhookError('handler_failed', 'It was verified, and could not be handled');
  return {
    status,
    headers: {
      'content-type': 'application/json',
      ...(status === 405 && { allow: 'POST' }),
      // The rest of the body is not read.
      ...(status === 413 && { connection: 'close' }),
      ...(code === 'busy' && { 'retry-after': String(retryAfterSeconds ?? 1) }),
    },
    body: JSON.stringify({ code, message }),
  };
}

/** What is used of a request of node:http, and of what Express and others add to it. */
export type NodeRequest = {
  readonly method?: string | undefined;
  readonly headers: { readonly [name: string]: string | readonly string[] | undefined };
  readonly body?: unknown;
  readonly rawBody?: unknown;
  readonly readableDidRead: boolean;
  iterator(options: { destroyOnReturn: boolean }): AsyncIterable<Uint8Array>;
};

type NodeResponse = {
  writeHead(status: number, headers: Record<string, string>): { end(body?: string): unknown };
};

type FastifyInstance = {
  removeAllContentTypeParsers(): unknown;
  addContentTypeParser(
    type: string,
    parser: (request: unknown, body: unknown, done: (error: null) => void) => void,
  ): unknown;
  post(
    path: string,
    handler: (request: { raw: NodeRequest }, reply: FastifyReply) => Promise<unknown>,
  ): unknown;
};

type FastifyReply = {
  code(status: number): FastifyReply;
  headers(headers: Record<string, string>): FastifyReply;
  send(body?: string): FastifyReply;
};

function fromNode(request: NodeRequest): Incoming {
  return {
    method: request.method,
    headers: request.headers,
    async read(maxBytes) {
      // Leaving the loop must not destroy the connection that the answer goes over.
      if (!request.readableDidRead) {
        return collect(request.iterator({ destroyOnReturn: false }), maxBytes);
      }
      // express.raw() and express.text() leave the body as it came; others keep it beside what they make of it.
      const kept = [request.rawBody, request.body].find(
        (body) => body instanceof Uint8Array || typeof body === 'string',
      );
      if (kept === undefined) throw consumed('express.json(), or another body parser');
      return kept;
    },
    keep: () => {},
  };
}

function fromFetch(request: Request, context: { waitUntil?: unknown } = {}): Incoming {
  return {
    method: request.method,
    headers: request.headers,
    async read(maxBytes) {
      if (request.bodyUsed) throw consumed('request.json() or the like');
      return collect((request.body ?? []) as AsyncIterable<Uint8Array>, maxBytes);
    },
    keep(work) {
      if (typeof context.waitUntil === 'function') context.waitUntil(work);
    },
  };
}

/** Reads a stream to its end, or until it is too long. */
async function collect(stream: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let sizeBytes = 0;
  try {
    for await (const piece of stream) {
      pieces.push(piece);
      sizeBytes += piece.length;
      if (sizeBytes > maxBytes) break;
    }
  } catch (cause) {
    throw new WebhookError('body_incomplete', 'The body broke off', { cause });
  }
  return concat(pieces);
}

function tooLarge(maxBytes: number): WebhookError {
  return new WebhookError('body_too_large', `The body has more than ${maxBytes} bytes`);
}

function consumed(by: string): WebhookError {
  return new WebhookError(
    'body_consumed',
    `The body was read before, by ${by}, and its signature is of the bytes that came. Put the route of webhooks before that.`,
  );
}
