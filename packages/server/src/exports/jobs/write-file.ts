import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { compress, compressTail } from '../formats/compress.ts';
import type { FileFormat } from '../formats/format.ts';
import type { WorkContext } from './context.ts';
import type { StoredJob } from './job.ts';
import type { DonePart } from './queries.ts';

/** Some parts as a file of their own: what begins such a file, the parts, and what ends it. */
export async function writeFile(
  { source }: Pick<WorkContext, 'source'>,
  parts: readonly DonePart[],
  call: { job: StoredJob; format: FileFormat; path: string; signal: AbortSignal },
): Promise<{ bytes: number; sha256: string }> {
  const { job, format, path, signal } = call;
  const { compression } = job.options;
  const hash = createHash('sha256');
  let bytes = 0;
  async function* pieces(): AsyncGenerator<Buffer> {
    yield* compress([format.head], compression);
    for (const { object_key: key, size_bytes: sizeBytes, sha256 } of parts) {
      if (sizeBytes === 0) continue;
      const opened = await source.cold.objects.open(
        { key, sizeBytes, sha256 },
        { anew: true, signal },
      );
      try {
        yield* createReadStream(opened.path);
      } finally {
        await opened.release();
      }
    }
    yield* compressTail(format, parts.map(toFilePart), compression);
  }
  async function* counted(): AsyncGenerator<Buffer> {
    for await (const piece of pieces()) {
      hash.update(piece);
      bytes += piece.length;
      yield piece;
    }
  }
  await pipeline(counted(), createWriteStream(path, { mode: 0o600 }), { signal });
  return { bytes, sha256: hash.digest('hex') };
}

/** What the tail of a file needs to know of a part. */
export function toFilePart({ rows, body_bytes: sizeBytes, layout }: DonePart) {
  return { rows, sizeBytes, layout };
}
