import { request as httpRequest, type IncomingMessage } from 'node:http';

export type Target = { readonly url: string; readonly token: string };

export type Answer = {
  status: number;
  headers: Headers;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  json: any;
};

export type CallOptions = {
  /** The access token; null sends none. */
  token?: string | null;
  /** What is not text or bytes is sent as JSON. */
  body?: unknown;
  headers?: Record<string, string>;
};

/** Calls the API and reads the whole answer. Throws when the connection fails. */
export async function callApi(
  target: Target,
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<Answer> {
  const { token = target.token, body, headers = {} } = options;
  const isRaw = typeof body === 'string' || body instanceof Uint8Array;
  const response = await fetch(`${target.url}${path}`, {
    method,
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined || isRaw ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: isRaw ? (body as string) : JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = (response.headers.get('content-type') ?? '').includes('json');
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: isJson ? JSON.parse(text) : undefined,
  };
}

/** A download whose pace the test decides: nothing is read until `readAll` or an iterator reads. */
export type Download = {
  readonly response: IncomingMessage;
  readonly rowCount: number;
  /** The whole body; throws when the connection breaks off. */
  readAll(): Promise<Buffer>;
  /** Hangs up. */
  abort(): void;
};

/** Asks for a CSV and answers once the head of the response is there. */
export function openExport(
  target: Target,
  body: Record<string, unknown>,
  headers: Record<string, string> = {},
): Promise<Download> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${target.url}/api/v1/exports/csv`, {
      method: 'POST',
      agent: false,
      headers: {
        authorization: `Bearer ${target.token}`,
        'content-type': 'application/json',
        ...headers,
      },
    });
    request.on('error', reject);
    request.on('response', (response) => {
      response.pause();
      // Whoever reads the body gets the error of a reset connection. Before somebody reads, the error must not end the
      // test run.
      response.on('error', () => {});
      resolve({
        response,
        rowCount: Number(response.headers['x-record-count']),
        readAll: () => readAll(response),
        abort: () => request.destroy(),
      });
    });
    request.end(JSON.stringify(body));
  });
}

async function readAll(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  if (!response.complete) throw new Error('the connection broke off');
  return Buffer.concat(chunks);
}
