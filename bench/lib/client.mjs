import { createReadStream } from 'node:fs';
import { Agent, request } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * One client with one kept-alive connection. The same code asks ours and the bare server, which knows no
 * tokens.
 *
 * @param {any} scope
 * @param {{ origin: string, token?: string }} service
 */
export function createClient(scope, { origin, token }) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  scope.defer(() => agent.destroy());
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const open = (method, path, headers = {}) =>
    request(origin + path, { method, agent, headers: { ...authorization, ...headers } });
  return {
    open,
    /** Sends a body of JSON, or nothing, and reads the answer to its end; answers its head. */
    async send(method, path, body) {
      const asked = open(
        method,
        path,
        body === undefined ? {} : { 'content-type': 'application/json' },
      );
      asked.end(body === undefined ? undefined : JSON.stringify(body));
      const response = await answerOf(asked);
      await drain(response);
      return response;
    },
    /** Answers the parsed body, and how long it took from the first byte out to the last byte in. */
    async get(path) {
      const startedAt = performance.now();
      const asked = open('GET', path);
      asked.end();
      const response = await answerOf(asked);
      const chunks = await response.toArray();
      const elapsedMillis = performance.now() - startedAt;
      return { elapsedMillis, body: JSON.parse(textOf(response, chunks, path)) };
    },
  };
}

/**
 * The answer's head.
 *
 * @param {import('node:http').ClientRequest} asked
 * @returns {Promise<import('node:http').IncomingMessage>}
 */
function answerOf(asked) {
  return new Promise((resolve, reject) => {
    asked.once('response', resolve);
    asked.once('error', reject);
  });
}

function textOf(response, chunks, path) {
  const text = Buffer.concat(chunks).toString();
  if (response.statusCode !== 200) throw new Error(`${path}: ${response.statusCode} ${text}`);
  return text;
}

/**
 * Sends JSON, or nothing; answers the parsed answer.
 *
 * @param {{ origin: string, token?: string }} service
 * @param {string} method
 * @param {string} path
 * @param {object} [body]
 * @param {Record<string, string>} headers
 */
export async function call({ origin, token }, method, path, body, headers = {}) {
  const response = await fetch(`${origin}/api/v1${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text === '' ? undefined : JSON.parse(text);
}

/** The tree's tenants with their counters. */
export async function listTenants(client) {
  const { body } = await client.get('/api/v1/enrichment/datasets?level=tenant&limit=500');
  return body.data;
}

/** Every page of a list, one after the other, as `get` answers it. `path` has a query. */
export async function* pagesOf(client, path) {
  let cursor = null;
  do {
    const more = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const page = await client.get(`${path}${more}`);
    yield page;
    cursor = page.body.next_cursor;
  } while (cursor !== null);
}

/** Sends a file of records as one NDJSON stream; answers what the service says became of them, or would become. */
export async function ingestFile(client, path, { isDry = false } = {}) {
  const asked = client.open('POST', `/api/v1/enrichment/records${isDry ? '?dry_run=true' : ''}`, {
    'content-type': 'application/x-ndjson',
  });
  const answered = answerOf(asked);
  await Promise.all([pipeline(createReadStream(path), asked), answered]);
  const response = await answered;
  return JSON.parse(textOf(response, await response.toArray(), 'ingest'));
}

/** Asks for a slice as a stream, uncoded. Answers once the head is there; the body is not read yet. */
export async function requestExport(client, slice, format = 'csv') {
  const asked = client.open('POST', `/api/v1/exports/${format}`, {
    'content-type': 'application/json',
  });
  asked.end(JSON.stringify(slice));
  const response = await answerOf(asked);
  if (response.statusCode !== 200) textOf(response, await response.toArray(), format);
  return { asked, response, rowCount: Number(response.headers['x-record-count']) };
}

/** Exports a slice and drops the bytes; answers how many rows and bytes there were. */
export async function exportSlice(
  client,
  slice,
  { format = 'csv', onChunk = (_chunk) => {} } = {},
) {
  const { response, rowCount } = await requestExport(client, slice, format);
  const bytes = await drain(response, onChunk);
  return { rows: rowCount, bytes, trailer: response.trailers['repr-digest'] };
}

/**
 * Reads a stream of bytes to its end.
 *
 * @param {AsyncIterable<Buffer>} stream
 * @param {(chunk: Buffer) => unknown} onChunk
 */
export async function drain(stream, onChunk = () => {}) {
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.length;
    onChunk(chunk);
  }
  return bytes;
}

export function countLines(chunk) {
  let lines = 0;
  for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines += 1;
  return lines;
}

/** Runs retention and waits for its end. */
export async function runRetention({ service, client }, request = {}) {
  const { id } = await call(service, 'POST', '/retention/run', request);
  return untilCompleted(client, `/retention/runs/${id}`);
}

/** Verifies the cold tier and waits for the verdict, which must be good. */
export async function verify({ service, client }, request = {}) {
  const { id } = await call(service, 'POST', '/retention/verify', request);
  return untilCompleted(client, `/retention/verify/${id}`);
}

/** Runs an export job; answers it as it is at its end. */
export async function runExportJob({ service, client }, format, slice) {
  const headers = { prefer: 'respond-async' };
  const { id } = await call(service, 'POST', `/exports/${format}`, slice, headers);
  return untilCompleted(client, `/exports/${id}`);
}

async function untilCompleted(client, path) {
  for (;;) {
    const { body } = await client.get(`/api/v1${path}`);
    const isUnderWay = body.state === 'queued' || body.state === 'running';
    const isWrong = body.failed_moves > 0 || body.ok === false;
    if (isWrong || !(isUnderWay || body.state === 'completed')) {
      throw new Error(`${path}: ${JSON.stringify(body)}`);
    }
    if (!isUnderWay) return body;
    await delay(50);
  }
}
