import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/**
 * Yields what a stream such as gzip makes of the bytes of a source, at the pace of whoever reads it. Throws what either of
 * them throws. The stream is destroyed at the end, also when its reader leaves early.
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
