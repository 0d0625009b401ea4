import { answerOf } from '../lib/client.mjs';

/** Asks for the CSV of a slice, uncoded. Answers once the head is there; the body is not read yet. */
export async function requestCsv(client, slice) {
  const body = JSON.stringify(slice);
  const asked = client.open('POST', '/api/v1/exports/csv', {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  });
  asked.end(body);
  const response = await answerOf(asked);
  if (response.statusCode !== 200) {
    let text = '';
    for await (const chunk of response.setEncoding('utf8')) text += chunk;
    throw new Error(`export: ${response.statusCode} ${text}`);
  }
  return { asked, response, rowCount: Number(response.headers['x-record-count']) };
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
