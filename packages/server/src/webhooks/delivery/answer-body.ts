import type { Transform } from 'node:stream';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
} from 'node:zlib';

/** What is kept of an answer's body, after decompression. */
const keptBytes = 4096;
/** What is kept of a compressed body until it is decompressed: four times what that could take. */
const keptCompressedBytes = 4 * keptBytes;
/** What is read of a body at all. */
const readBytes = 64 * 1024;

/** The beginning of an answer's body, in bounded memory whatever the receiver sends. */
export class AnswerBody {
  readonly #coding: string | null;
  readonly #limit: number;
  #chunks: Buffer[] = [];
  #kept = 0;
  #read = 0;

  /** `contentEncoding`: the header's value, or null. */
  constructor(contentEncoding: string | null) {
    const coding = contentEncoding?.trim().toLowerCase() ?? '';
    this.#coding = coding === '' || coding === 'identity' ? null : coding;
    this.#limit = this.#coding === null ? keptBytes : keptCompressedBytes;
  }

  /** Takes a piece as it comes off the wire. False: that is enough, read no more. */
  add(chunk: Buffer): boolean {
    this.#read += chunk.length;
    if (this.#kept < this.#limit) {
      // A copy: the piece is a view that would keep the whole buffer of the socket alive.
      const piece = Buffer.from(chunk.subarray(0, this.#limit - this.#kept));
      this.#chunks.push(piece);
      this.#kept += piece.length;
    }
    return this.#read <= readBytes;
  }

  /** At most 4 KiB; null when there was no body. A promise only when it was compressed. */
  take(): Buffer | null | Promise<Buffer | null> {
    if (this.#kept === 0) return null;
    const bytes = this.#chunks.length === 1 ? this.#chunks[0] : undefined;
    const wire = bytes ?? Buffer.concat(this.#chunks);
    const decoder = this.#coding === null ? null : createDecoder(this.#coding, wire);
    return decoder === null ? wire.subarray(0, keptBytes) : decodeStart(decoder, wire);
  }
}

/** null for a coding that is not known here: then the body is kept as it came. */
function createDecoder(coding: string, wire: Buffer): Transform | null {
  // A body that was cut short is no error: as much comes out as went in.
  const options = { chunkSize: keptBytes, finishFlush: constants.Z_SYNC_FLUSH };
  switch (coding) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip(options);
    case 'deflate':
      // Meant to be zlib's format, but some senders leave its header out.
      return ((wire[0] ?? 0) & 0x0f) === 8 ? createInflate(options) : createInflateRaw(options);
    case 'br':
      return createBrotliDecompress({
        chunkSize: keptBytes,
        finishFlush: constants.BROTLI_OPERATION_FLUSH,
      });
    default:
      return null;
  }
}

/** Inflates no more than what is kept and one chunk: a bomb of 64 KiB would be 64 MiB. */
function decodeStart(decoder: Transform, wire: Buffer): Promise<Buffer | null> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const finish = () => {
      decoder.destroy();
      resolve(size === 0 ? null : Buffer.concat(chunks).subarray(0, keptBytes));
    };
    decoder.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      size += chunk.length;
      if (size >= keptBytes) finish();
    });
    decoder.once('end', finish);
    // Corrupt: what came before that counts.
    decoder.on('error', finish);
    decoder.end(wire);
  });
}
