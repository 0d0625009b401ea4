import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listen } from '../../../test/listen.ts';
import { newAccessToken } from '../../kernel/ids.ts';
import { basePath } from '../../kernel/values.ts';

type Received = {
  method: string;
  path: string;
  query: Record<string, string>;
  headers: IncomingMessage['headers'];
  body: Buffer;
};
export type Handler = (request: Received, response: ServerResponse) => void | Promise<void>;

type InstantHandler = (request: unknown, response: ServerResponse) => void;

/** A server that plays the API: the other side of the wire, which these tests hold in their hands. */
export type Receiver = {
  url: string;
  token: string;
  /** SVC_URL and SVC_TOKEN of it. */
  env: { SVC_URL: string; SVC_TOKEN: string };
  requests: Received[];
  /** What `GET /me` and the like answer, from now on. */
  on(route: string, handler: Handler): void;
  /** Forgets what was set up and what came. */
  reset(): void;
  close(): Promise<void>;
};

/** `raw` takes every request before its body is read. */
export async function startReceiver(
  raw?: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<Receiver> {
  const handlers = new Map<string, Handler>();
  const requests: Received[] = [];
  const server = createServer((request, response) => {
    if (raw !== undefined) raw(request, response);
    else void answer(request, response).catch(() => response.destroy());
  });
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://receiver');
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const received: Received = {
      method: request.method ?? '',
      path: url.pathname.slice(basePath.length),
      query: Object.fromEntries(url.searchParams),
      headers: request.headers,
      body: Buffer.concat(pieces),
    };
    requests.push(received);
    const handler = handlers.get(`${received.method} ${received.path}`) ?? handlers.get('*');
    if (handler === undefined)
      problem(404, 'route_not_found', 'There is no such path.')(received, response);
    else await handler(received, response);
  }
  const { port, close } = await listen(server);
  const url = `http://127.0.0.1:${port}`;
  const token = newAccessToken();
  return {
    url,
    token,
    env: { SVC_URL: url, SVC_TOKEN: token },
    requests,
    on: (route, handler) => handlers.set(route, handler),
    reset() {
      handlers.clear();
      requests.length = 0;
    },
    close,
  };
}

/** Answers this text as JSON. */
export function json(text: string | object, status = 200): InstantHandler {
  return (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(typeof text === 'string' ? text : JSON.stringify(text));
  };
}

/** Answers 204. */
export const noContent: InstantHandler = (_request, response) => {
  response.writeHead(204).end();
};

/** Answers one after the other as JSON, and from then on the last of them. */
export function inTurn(...answers: readonly object[]): InstantHandler {
  let given = 0;
  return (request, response) => {
    json(answers[Math.min(given, answers.length - 1)] ?? {})(request, response);
    given += 1;
  };
}

/** Answers a problem document. */
export function problem(
  status: number,
  code: string,
  detail: string,
  extra: { headers?: Record<string, string>; errors?: object[] } = {},
): InstantHandler {
  return (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/problem+json', ...extra.headers });
    response.end(
      JSON.stringify({ status, code, detail, request_id: 'req_1', errors: extra.errors }),
    );
  };
}

/** Answers one page after the other, by cursors `c1`, `c2`, … */
export function pages(...rows: string[][]): (request: Received, response: ServerResponse) => void {
  return (request, response) => {
    const at = Number(request.query.cursor?.slice(1) ?? 0);
    const next = at + 1 < rows.length ? `"c${at + 1}"` : 'null';
    const data = (rows[at] ?? []).join(',');
    json(`{"data":[${data}],"next_cursor":${next},"prev_cursor":null}`)(request, response);
  };
}
