import { createCipheriv, createDecipheriv, createHash, createHmac } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { ObjectDamaged } from '../platform/objects/objects.ts';

/** A key of a tenant: 256 bits, and what names it in frames. */
export type FrameKey = { readonly id: string; readonly bytes: Buffer };
/** The key with this id; null where it is gone. */
export type FindKey = (id: string) => Buffer | null;

/** The head of a frame: rows and length, 4 bytes each, the id of the key, and what its content is called by the key. */
const [idAt, nameAt, headBytes, tagBytes] = [8, 24, 56, 16];
/** An object is cut into frames of so many bytes: what is in memory at once. */
const chunkBytes = 2 ** 20;
const nobody = '0'.repeat(2 * (nameAt - idAt));

/** What names a key. It tells nothing of the key, but of any other one that it is another. */
export function idOf(key: Buffer): string {
  return mac(key, 'id')
    .subarray(0, nameAt - idAt)
    .toString('hex');
}

/**
 * Encrypts bytes by AES-256-GCM; without a key they are framed as they are. The same bytes become the same frame, so
 * that what has not changed is not written to a place again. That is safe: each frame has a key of its own, derived from
 * the tenant's and an HMAC of the bytes under it, so its nonce is used once, and who lacks the key cannot try out what
 * the bytes may have been. It only shows which frames of a tenant are equal.
 */
export function sealFrame(key: FrameKey | null, bytes: Buffer, rows = 0): Buffer {
  const head = Buffer.alloc(headBytes);
  head.writeUInt32BE(rows, 0);
  head.writeUInt32BE(bytes.length + (key === null ? 0 : tagBytes), 4);
  if (key === null) return Buffer.concat([head, bytes]);
  head.write(key.id, idAt, 'hex');
  mac(key.bytes, 'name', head.subarray(0, 4), bytes).copy(head, nameAt);
  const cipher = createCipheriv('aes-256-gcm', ownKey(key.bytes, head), nonce).setAAD(head);
  return Buffer.concat([head, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
}

const nonce = Buffer.alloc(12);

const ownKey = (key: Buffer, head: Buffer) => mac(key, 'frame', head.subarray(nameAt, headBytes));

function mac(key: Buffer, use: string, ...parts: readonly Buffer[]): Buffer {
  const hmac = createHmac('sha256', key).update(`${use}\0`);
  for (const part of parts) hmac.update(part);
  return hmac.digest();
}

/** A frame of a file; `bytes` is null where its key is gone. */
type Frame = { readonly rows: number; readonly bytes: Buffer | null };

/** Decrypts the frames of a file. Throws ObjectDamaged for what no frame can be. */
export async function* openFrames(path: string, find: FindKey): AsyncGenerator<Frame> {
  const file = await open(path);
  try {
    for (let at = 0; ; ) {
      const head = await readAt(file, at, headBytes);
      if (head.length === 0) return;
      const length = head.length < headBytes ? 0 : head.readUInt32BE(4);
      const body = await readAt(file, at + headBytes, length);
      if (head.length < headBytes || body.length < length) {
        throw new ObjectDamaged(path, 'ends amid a frame');
      }
      yield { rows: head.readUInt32BE(0), bytes: openFrame(head, body, { find, path }) };
      at += headBytes + length;
    }
  } finally {
    await file.close();
  }
}

function openFrame(
  head: Buffer,
  body: Buffer,
  { find, path }: { find: FindKey; path: string },
): Buffer | null {
  const id = head.toString('hex', idAt, nameAt);
  if (id === nobody) return body;
  const key = find(id);
  if (key === null) return null;
  const options = { authTagLength: tagBytes };
  const decipher = createDecipheriv('aes-256-gcm', ownKey(key, head), nonce, options);
  const end = body.length - tagBytes;
  try {
    decipher.setAAD(head).setAuthTag(body.subarray(end));
    return Buffer.concat([decipher.update(body.subarray(0, end)), decipher.final()]);
  } catch {
    throw new ObjectDamaged(path, 'has a frame that its key does not open');
  }
}

/** Decrypts a frame that is spelled as base64; null where its key is gone. */
export function openText(text: string, find: FindKey): string | null {
  const frame = Buffer.from(text, 'base64');
  const [head, body] = [frame.subarray(0, headBytes), frame.subarray(headBytes)];
  return openFrame(head, body, { find, path: 'of a list' })?.toString() ?? null;
}

async function readAt(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(bytes, filled, length - filled, at + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return bytes.subarray(0, filled);
}

/** How large a file of so many bytes is when it is sealed. */
export function sealedSize(sizeBytes: number): number {
  return sizeBytes + Math.ceil(sizeBytes / chunkBytes) * (headBytes + tagBytes);
}

/** Encrypts a file into another, and returns the SHA-256 of that. */
export async function sealFile(
  key: FrameKey,
  { from, to }: { from: string; to: string },
  signal: AbortSignal,
): Promise<string> {
  const hash = createHash('sha256');
  async function* frames() {
    const file = await open(from);
    try {
      for (let at = 0; ; at += chunkBytes) {
        const bytes = await readAt(file, at, chunkBytes);
        if (bytes.length === 0) return;
        const frame = sealFrame(key, bytes);
        hash.update(frame);
        yield frame;
      }
    } finally {
      await file.close();
    }
  }
  await pipeline(frames, createWriteStream(to, { flags: 'wx', mode: 0o600 }), { signal });
  return hash.digest('hex');
}

/** The bytes of an object that `sealFile` has encrypted. Throws ObjectDamaged, also where its key is gone. */
export async function* openSealed(path: string, find: FindKey): AsyncGenerator<Buffer> {
  for await (const { bytes } of openFrames(path, find)) {
    if (bytes === null) throw new ObjectDamaged(path, 'is encrypted by a key that is gone');
    yield bytes;
  }
}
