import { createReadStream } from 'node:fs';
import { Agent, request } from 'node:http';
import { pipeline } from 'node:stream/promises';

/**
 * One client with one kept-alive connection. The same code asks ours and the bare handler, which knows no
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
    /** Answers the parsed body, and how long it took from the first byte out to the last byte in. */
    async get(path) {
      const startedAt = performance.now();
      const asked = open('GET', path);
      asked.end();
      const response = await answerOf(asked);
      const chunks = [];
      for await (const chunk of response) chunks.push(chunk);
      const elapsedMillis = performance.now() - startedAt;
      const text = Buffer.concat(chunks).toString();
      if (response.statusCode !== 200) throw new Error(`${path}: ${response.statusCode} ${text}`);
      return { elapsedMillis, body: JSON.parse(text) };
    },
  };
}

/**
 * The answer's head.
 *
 * @param {import('node:http').ClientRequest} asked
 * @returns {Promise<import('node:http').IncomingMessage>}
 */
export function answerOf(asked) {
  return new Promise((resolve, reject) => {
    asked.once('response', resolve);
    asked.once('error', reject);
  });
}

/** Sends a file of records as one NDJSON stream; answers what the service says became of them. */
export async function ingestFile(client, path) {
  const asked = client.open('POST', '/api/v1/enrichment/records', {
    'content-type': 'application/x-ndjson',
  });
  const answered = answerOf(asked);
  await Promise.all([pipeline(createReadStream(path), asked), answered]);
  const response = await answered;
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk;
  if (response.statusCode !== 200) throw new Error(`ingest: ${response.statusCode} ${text}`);
  return JSON.parse(text);
}
