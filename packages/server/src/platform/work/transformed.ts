import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/**
 * Yields what a stream such as gzip makes of a source, as it is read; throws what either throws, and always ends it.
 */
export async function* transformed(
  source: AsyncIterable<Buffer>,
  stream: Duplex,
  options: { signal?: AbortSignal } = {},
): AsyncGenerator<Buffer> {
  const feeding = pipeline(source, stream, options);
  // Whoever reads gets the error.
  feeding.catch(() => {});
  try {
    for await (const chunk of stream) yield chunk as Buffer;
    await feeding;
  } finally {
    stream.destroy();
  }
}
