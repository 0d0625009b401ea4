import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../kernel/errors.ts';
import { readTarHeader, tarBlockBytes, tarPaddingBytes } from '../../kernel/tar.ts';
import { makeFolders } from '../../platform/make-folders.ts';
import { type SplitName, splitNames } from '../../records/values.ts';
import { type PartOptions, type Sink, writeAll, writing } from './part-file.ts';

export const sumsName = 'SHA256SUMS';
/**
 * What has arrived of which tar: its SHA-256, and the headers of its files so far, the last of which may be cut. `run` is
 * the command that writes: an earlier one that still lives learns from it that it has lost the folder.
 */
export const noteName = '.bundle.json';
type Note = { readonly sha256: string; readonly headers: readonly string[]; readonly run: string };

export function bundleNames(split: SplitName): { data: string; manifest: string } {
  return { data: `data/${split}-00000-of-00001.parquet`, manifest: `manifests/${split}.json` };
}

/**
 * Opens a folder that takes a tar and unpacks it as it comes. The checksums get their name last, once all of it is what was
 * announced. A later run goes on with the same tar to the byte: what has arrived is hashed again from the files.
 */
export async function openBundle(
  root: string,
  { sha256, signal }: Pick<PartOptions, 'sha256' | 'signal'>,
): Promise<Sink> {
  const notePath = join(root, noteName);
  let hash = createHash('sha256');
  let size = 0;
  const add = (bytes: Uint8Array) => {
    hash.update(bytes);
    size += bytes.length;
  };
  const run = randomUUID();
  let hasBegun = false;
  const isOurs = async () => hasBegun && (await readNote(notePath))?.run === run;
  const refuseOther = async () => {
    if (!hasBegun || (await isOurs())) return;
    throw new AppError('file_unreadable', {
      detail: `Another command bundles into ${root} since, and goes on with what was there; this one has stopped.`,
    });
  };
  const saveNote = async (headers: readonly string[]) => {
    await refuseOther();
    await writeFile(
      notePath,
      JSON.stringify({ sha256: sha256 ?? '', headers, run } satisfies Note),
    );
    hasBegun = true;
  };
  const note = await readNote(notePath);
  const left = note?.sha256 === sha256 ? note.headers : [];
  if (left.length > 0) await writing(root, () => saveNote(left));
  const notes = { refuseOther, saveNote };
  let unpacker = createUnpacker(root, await takeUp(root, left, { add, signal }), notes);
  let isKept = false;
  return {
    isPrinted: false,
    sizeBytes: () => size,
    begin: () =>
      writing(root, async () => {
        await unpacker.close();
        await refuseOther();
        await makeFolders(join(root, 'data'));
        await makeFolders(join(root, 'manifests'));
        await saveNote([]);
        // From now on it is not whole; what readers find in it is of one version.
        const stale = splitNames.map(bundleNames).flatMap(({ data, manifest }) => [data, manifest]);
        for (const name of [sumsName, ...stale]) await rm(join(root, name), { force: true });
        await rm(pathOf(root, sumsName), { force: true });
        [hash, size] = [createHash('sha256'), 0];
        unpacker = createUnpacker(root, { headers: [], file: null }, notes);
      }),
    async write(piece) {
      await writing(root, () => unpacker.write(piece));
      add(piece);
    },
    sha256: () => hash.copy().digest('hex'),
    keep: () =>
      writing(root, async () => {
        await refuseOther();
        await rename(pathOf(root, sumsName), join(root, sumsName));
        isKept = true;
        await rm(notePath, { force: true });
      }),
    async discard() {
      await unpacker.close();
      if (isKept || !(await isOurs())) return;
      for (const path of unpacker.paths()) await rm(path, { force: true });
      await rm(notePath, { force: true });
    },
    async leave() {
      await unpacker.close();
      return 0;
    },
  };
}

/** A file of the tar that is being written, from `at` on. Behind its bytes come zeros. */
type Current = { readonly handle: FileHandle; at: number; left: number; zeros: number };

/** How far a tar is: the headers that have come, as base64, and the file of the last one unless that is whole. */
type Far = { readonly headers: string[]; readonly file: Current | null };

/** Where a file lies. While others may be missing, the checksums have another name. */
function pathOf(root: string, name: string): string {
  return join(root, name === sumsName ? `${sumsName}.part` : name);
}

/** Finds out how far an earlier run has come, and adds all bytes of the tar up to there. */
async function takeUp(
  root: string,
  left: readonly string[],
  { add, signal }: { add: (bytes: Uint8Array) => void; signal: AbortSignal },
): Promise<Far> {
  const headers: string[] = [];
  for (const text of left) {
    const header = Buffer.from(text, 'base64');
    const file = toFile(header);
    const path = pathOf(root, file?.name ?? '');
    const found = file && (await stat(path).catch(() => null));
    if (!file || !found) break;
    headers.push(text);
    add(header);
    const { sizeBytes } = file;
    const at = Math.min(found.size, sizeBytes);
    const pieces = at === 0 ? [] : createReadStream(path, { end: at - 1, signal });
    for await (const piece of pieces) add(piece as Buffer);
    const zeros = tarPaddingBytes(sizeBytes);
    if (at < sizeBytes) {
      const handle = await open(path, 'r+');
      return { headers, file: { handle, at, left: sizeBytes - at, zeros } };
    }
    add(Buffer.alloc(zeros));
  }
  return { headers, file: null };
}

function createUnpacker(
  root: string,
  { headers, file: begun }: Far,
  notes: {
    refuseOther: () => Promise<void>;
    saveNote: (headers: readonly string[]) => Promise<void>;
  },
) {
  let header = Buffer.alloc(0);
  let current = begun;
  const close = async () => {
    await current?.handle.close();
    current = null;
  };
  /** Begins with a file whose header has come. There is none behind the last: its zeros are passed over. */
  const beginFile = async () => {
    const file = toFile(header);
    if (file !== null) {
      await notes.refuseOther();
      const handle = await open(pathOf(root, file.name), 'w');
      const { sizeBytes } = file;
      current = { handle, at: 0, left: sizeBytes, zeros: tarPaddingBytes(sizeBytes) };
      headers.push(header.toString('base64'));
      await notes.saveNote(headers);
    }
    header = Buffer.alloc(0);
  };
  /** Takes what belongs together at the beginning of a piece. Returns how many bytes these are. */
  const take = async (piece: Uint8Array): Promise<number> => {
    if (current === null) {
      const more = piece.subarray(0, tarBlockBytes - header.length);
      header = Buffer.concat([header, more]);
      if (header.length === tarBlockBytes) await beginFile();
      return more.length;
    }
    const bytes = piece.subarray(0, current.left);
    await writeAll(current.handle, bytes, current.at);
    current.at += bytes.length;
    current.left -= bytes.length;
    const zeros = Math.min(current.left > 0 ? 0 : current.zeros, piece.length - bytes.length);
    current.zeros -= zeros;
    return bytes.length + zeros;
  };
  return {
    async write(piece: Uint8Array): Promise<void> {
      for (let at = 0; at < piece.length; ) {
        at += await take(piece.subarray(at));
        if (current === null || current.left > 0 || current.zeros > 0) continue;
        await current.handle.sync();
        await close();
      }
    },
    close,
    paths: () =>
      headers.map((text) => pathOf(root, toFile(Buffer.from(text, 'base64'))?.name ?? sumsName)),
  };
}

/** What a header says; null for the end. Throws `answer_unexpected` for a name that may lead out of the folder. */
function toFile(header: Buffer): ReturnType<typeof readTarHeader> {
  try {
    const file = readTarHeader(header);
    if (file === null || /^((data|manifests)\/)?[A-Za-z0-9][\w.-]*$/.test(file.name)) return file;
    throw new Error(`it has a file "${file.name}"`);
  } catch (error) {
    throw new AppError('answer_unexpected', {
      detail: `This is no bundle: ${(error as Error).message}. Nothing more was unpacked.`,
      cause: error,
    });
  }
}

/** The note of a run before; null without one, or with half of one: there is nothing to go on with. */
async function readNote(path: string): Promise<Note | null> {
  try {
    const { sha256, headers, run = '' } = JSON.parse(await readFile(path, 'utf8')) as Partial<Note>;
    return typeof sha256 === 'string' && Array.isArray(headers) ? { sha256, headers, run } : null;
  } catch {
    return null;
  }
}
