import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { flightLines } from '../../packages/server/demo/flights.mjs';

/**
 * Writes the first `limit` flights of the demo data to a file, one record a line, or only those of some tenants. Answers
 * how many.
 */
export async function writeFlights(path, limit, tenants) {
  let count = 0;
  await pipeline(Readable.from(texts()), createWriteStream(path));
  return count;

  async function* texts() {
    for await (const piece of flightLines(limit, tenants)) {
      count += piece.count;
      yield piece.text;
    }
  }
}
