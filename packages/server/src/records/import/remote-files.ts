import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { AppError } from '../../kernel/errors.ts';
import {
  type ObjectInfo,
  ObjectMissing,
  type ObjectStore,
} from '../../platform/objects/objects.ts';
import { openObjectStore } from '../../platform/objects/open-store.ts';
import { getBytes } from '../../platform/objects/spool.ts';
import type { ImportFormat } from '../values.ts';

/** Files in buckets of S3, named as `s3://bucket/folder/*.parquet?endpoint=…&region=…`. */
type RemoteFiles = {
  /** The URLs of the files that are meant: one file, all in a folder, or those that fit a pattern. */
  find(url: string): Promise<string[]>;
  /** Returns a local file that tells its columns: of Parquet the end, behind a hole. It stays until the next call. */
  fetchColumns(url: string, format: ImportFormat): Promise<string>;
  /** What changes when a file is written anew. */
  identityOf(url: string): string;
  /** Returns the path of a local copy, which stays until the next call. Throws `file_changed`. */
  fetch(url: string): Promise<string>;
  close(): Promise<void>;
};

type RemoteFile = { readonly store: ObjectStore; readonly info: ObjectInfo };

export function isRemote(path: string): boolean {
  return /^s3:\/\//i.test(path);
}

export function createRemoteFiles(signal: AbortSignal): RemoteFiles {
  const stores = new Map<string, ObjectStore>();
  const files = new Map<string, RemoteFile>();
  let dir: string | undefined;
  /** The file that is here as a whole. */
  let fetched: { url: string; path: string } | undefined;
  const storeOf = async (url: string) => {
    const store = stores.get(url) ?? (await openObjectStore(url, ''));
    stores.set(url, store);
    return store;
  };
  const fileOf = (url: string): RemoteFile => {
    const file = files.get(url);
    if (file === undefined) throw new Error(`${url} was not found before`);
    return file;
  };
  const pathFor = async (url: string) => {
    dir ??= await mkdtemp(join(tmpdir(), 'svcctl-import-'));
    if (fetched !== undefined) await rm(fetched.path, { force: true });
    fetched = undefined;
    // The name tells whether it is compressed.
    return join(dir, basename(url.replace(/\?.*/, '')).slice(-100));
  };
  return {
    find: (url) =>
      translated(url, async () => {
        const { bucket, prefix, pattern, query } = readUrl(url);
        const store = await storeOf(`s3://${bucket}${query}`);
        const found: [url: string, info: ObjectInfo][] = [];
        for await (const info of store.list(prefix, signal)) {
          if (!pattern.test(info.key)) continue;
          const path = info.key.split('/').map(encodeURIComponent).join('/');
          found.push([`s3://${bucket}/${path}${query}`, info]);
        }
        for (const [name, info] of found) files.set(name, { store, info });
        return found.map(([name]) => name).sort();
      }),
    identityOf(url) {
      const { sizeBytes, writtenAt } = fileOf(url).info;
      return `${sizeBytes} ${writtenAt}`;
    },
    async fetchColumns(url, format) {
      const { store, info } = fileOf(url);
      if (format !== 'parquet' || info.sizeBytes < wholeBytes) return this.fetch(url);
      const path = await pathFor(url);
      await translated(url, () => fetchFooter(store, info, { path, signal }));
      fetched = { url: '', path };
      return path;
    },
    async fetch(url) {
      const { store, info } = fileOf(url);
      await translated(url, () => assertSame(store, info, { url, signal }));
      if (fetched?.url === url) return fetched.path;
      const path = await pathFor(url);
      fetched = { url: '', path };
      await translated(url, () => store.get(info.key, path, signal));
      await translated(url, () => assertSame(store, info, { url, signal }));
      fetched = { url, path };
      return path;
    },
    async close() {
      for (const store of stores.values()) await store.close();
      if (dir !== undefined) await rm(dir, { recursive: true, force: true });
    },
  };
}

/** A file of Parquet that is smaller than this is fetched whole for its columns, and then is here already. */
const wholeBytes = 2 ** 20;
const tailBytes = 64 * 1024;

/** Makes a file that has the length and the footer of one of Parquet. */
async function fetchFooter(
  store: ObjectStore,
  { key, sizeBytes }: ObjectInfo,
  { path, signal }: { path: string; signal: AbortSignal },
): Promise<void> {
  const read = (start: number) =>
    getBytes(store, key, { signal, stretch: { start, end: sizeBytes, sizeBytes } });
  let tail = await read(sizeBytes - tailBytes);
  // The length of the footer and the magic are its last eight bytes.
  const footerBytes = tail.readUInt32LE(tail.length - 8) + 8;
  if (footerBytes > sizeBytes) throw new Error('it has no footer of Parquet');
  if (footerBytes > tail.length) tail = await read(sizeBytes - footerBytes);
  const file = await open(path, 'w', 0o600);
  try {
    await file.truncate(sizeBytes);
    await file.write(Buffer.from('PAR1'), 0, 4, 0);
    await file.write(tail, 0, tail.length, sizeBytes - tail.length);
  } finally {
    await file.close();
  }
}

/** Throws `file_changed` when the object was written anew since it was listed. A download is of one version. */
async function assertSame(
  store: ObjectStore,
  info: ObjectInfo,
  { url, signal }: { url: string; signal: AbortSignal },
): Promise<void> {
  for await (const now of store.list(info.key, signal)) {
    if (now.key !== info.key) continue;
    if (now.sizeBytes === info.sizeBytes && now.writtenAt === info.writtenAt) return;
    throw new AppError('file_changed', {
      detail: `${url} changed since it was looked at. What was sent before stays; import it again once it rests.`,
    });
  }
  throw new ObjectMissing(info.key);
}

/** Cuts a URL into what is listed and which of it is meant: a file, a folder, or a pattern without `?`. */
function readUrl(url: string): { bucket: string; prefix: string; pattern: RegExp; query: string } {
  const [, bucket = '', rest = '', query = ''] =
    /^s3:\/\/([^/?]*)\/?([^?]*)(\?.*)?$/i.exec(url) ?? [];
  const path = decodePath(rest);
  const special = path.search(/[*[]/);
  if (special < 0) {
    const exact = literally(path.replace(/\/$/, ''));
    return {
      bucket,
      prefix: path,
      query,
      pattern: new RegExp(path === '' ? '' : `^${exact}(/|$)`),
    };
  }
  const prefix = path.slice(0, path.lastIndexOf('/', special) + 1);
  const source = path.replace(/\*\*\/?|\*|\[[^\]]+\]|[^*[]+|\[/g, (part) => {
    if (part === '*') return '[^/]*';
    if (part.startsWith('**')) return part === '**' ? '.*' : '(?:.*/)?';
    return part.length > 2 && part.startsWith('[') ? part.replace('[!', '[^') : literally(part);
  });
  return { bucket, prefix, query, pattern: new RegExp(`^${source}$`) };
}

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch (error) {
    throw new AppError('usage_invalid', {
      detail: `The URL of files in S3 has wrong percent-encoding; write % as %25: ${path}`,
      cause: error,
    });
  }
}

function literally(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

/** What a store says of cold data, said of a file. */
async function translated<T>(url: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ObjectMissing)
      throw unreadable(url, 'there is no such file any more', error);
    if (!(error instanceof AppError)) throw error;
    if (error.code === 'settings_invalid') {
      throw new AppError('usage_invalid', {
        // The URL is not repeated: it may hold credentials.
        detail: error.detail.replace('SVC_BLOB_URL', 'The URL of files in S3'),
        cause: error,
      });
    }
    return Promise.reject(
      error.code === 'cold_tier_unavailable' ? unreadable(url, error.detail, error) : error,
    );
  }
}

function unreadable(url: string, reason: string, cause: unknown): AppError {
  return new AppError('file_unreadable', {
    detail: `${url} cannot be read: ${reason.replace(/\.$/, '')}.`,
    cause,
  });
}
