import type { Transform } from 'node:stream';
import { constants, createBrotliDecompress, createInflateRaw, createUnzip } from 'node:zlib';

/** How much of an answer's body is kept, after decompression. */
const keptBytes = 4096;
const keptCompressedBytes = 4 * keptBytes;
/** How much of a body is read before the attempt ends its connection. */
const readBytes = 64 * 1024;

/** Keeps the beginning of an answer's body, in bounded memory whatever the receiver sends. */
export class AnswerBody {
  readonly #coding: string | null;
  readonly #limit: number;
  #chunks: Buffer[] = [];
  #kept = 0;
  #read = 0;

  /** `contentEncoding` is the value of the header, or null if there was none. */
  constructor(contentEncoding: string | null) {
    const coding = contentEncoding?.trim().toLowerCase() ?? '';
    this.#coding = coding === '' || coding === 'identity' ? null : coding;
    this.#limit = this.#coding === null ? keptBytes : keptCompressedBytes;
  }

  /** Takes a piece as it comes from the network. False means that enough was read and the rest need not be. */
  add(chunk: Buffer): boolean {
    this.#read += chunk.length;
    if (this.#kept < this.#limit) {
      // A copy is needed: the piece is a view, which would keep the socket's whole buffer alive.
      const piece = Buffer.from(chunk.subarray(0, this.#limit - this.#kept));
      this.#chunks.push(piece);
      this.#kept += piece.length;
    }
    return this.#read <= readBytes;
  }

  /** The beginning of the body, at most 4 KiB; null when there was none; a promise only when it was compressed. */
  take(): Buffer | null | Promise<Buffer | null> {
    if (this.#kept === 0) return null;
    const bytes = this.#chunks.length === 1 ? this.#chunks[0] : undefined;
    const wire = bytes ?? Buffer.concat(this.#chunks);
    const decoder = this.#coding === null ? null : createDecoder(this.#coding, wire);
    return decoder === null ? wire.subarray(0, keptBytes) : decodeStart(decoder, wire);
  }
}

/** The decoder of a content coding; null for an unknown one, whose body is then kept as it came. */
function createDecoder(coding: string, wire: Buffer): Transform | null {
  // A body that was cut short is no error: whatever can be decompressed is kept.
  const options = { chunkSize: keptBytes, finishFlush: constants.Z_SYNC_FLUSH };
  if (coding === 'br') {
    return createBrotliDecompress({ ...options, finishFlush: constants.BROTLI_OPERATION_FLUSH });
  }
  if (!['gzip', 'x-gzip', 'deflate'].includes(coding)) return null;
  // `deflate` is meant to be zlib's format, but some senders leave its header out. The low four bits of that are 8.
  const isRaw = coding === 'deflate' && ((wire[0] ?? 0) & 0x0f) !== 8;
  return isRaw ? createInflateRaw(options) : createUnzip(options);
}

/** Decompresses no more than the kept bytes and one chunk, because 64 KiB of compressed data can become 64 MiB. */
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
    // The data is corrupt: what came out before that is kept.
    decoder.on('error', finish);
    decoder.end(wire);
  });
}
