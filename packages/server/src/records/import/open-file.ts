import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createGunzip } from 'node:zlib';
import { AppError } from '../../kernel/errors.ts';
import { DuckDbError, isOutOfMemory, literal } from '../../platform/duckdb.ts';
import { openDuckDbStream } from '../../platform/duckdb-stream.ts';
import { splitLines } from '../../platform/http/lines.ts';
import type { ImportFormat } from '../values.ts';
import { createLineMapper } from './map-line.ts';
import {
  type Content,
  firstColumn,
  openTable,
  type Piece,
  type ReadOptions,
} from './open-table.ts';
import { createRemoteFiles, isRemote } from './remote-files.ts';
import { createStage, type Stage, type Stretch } from './stage.ts';

export type ImportFile = Omit<Content, 'typed'> & {
  /** Changes when the file does. */
  readonly identity: string;
  /** What all its rows are like as typed rows; null when they cannot be. */
  readonly shape: string | null;
  /** A range of its rows, counted from 0, the end excluded, for the stage. It throws as `records` does. */
  stretch(file: number, range: { from: number; until: number }): Stretch;
};

export type Importer = {
  /**
   * The paths of the files whose names fit a pattern (`*`, `?`, `[…]`, and `**` for any folders), in their order; of
   * `s3://bucket/…?endpoint=…` also those of a folder, or a single file. Throws `file_unreadable`, `usage_invalid`.
   */
  find(pattern: string): Promise<string[]>;
  /** Reads what a file says of itself. Throws `file_unreadable`. */
  open(path: string, format: ImportFormat): Promise<ImportFile>;
  /** The keys of NDJSON of which numbers were to be made, in the lines that were read by now. */
  readonly numbered: ReadonlySet<string>;
  readonly stage: Stage;
  close(): Promise<void>;
};

type ImportOptions = ReadOptions & {
  readonly signal: AbortSignal;
  /** What DuckDB may take. This is usually left out. */
  readonly memoryBytes?: number;
};

const usualMemoryBytes = 2 ** 30;
/** A line longer than this is no record, whatever the limits of the service are. */
const maxLineBytes = 16 * 2 ** 20;

/** Opens files of history, and turns their rows into records as the service takes them. */
export async function openImporter(options: ImportOptions): Promise<Importer> {
  const { signal, memoryBytes = usualMemoryBytes } = options;
  // A second thread took a third more CPU for the same rows, and no time off: what is written of a tenant is small, and
  // each statement divides its memory among the threads.
  const duckdb = await openDuckDbStream({ memoryBytes, threads: 1, signal });
  const remote = createRemoteFiles(signal);
  const stage = createStage(duckdb);
  const numbered = new Set<string>();
  /** Opens a file that is here. `name` is what people call it. */
  const openLocal = async (
    path: string,
    name: string,
    format: ImportFormat,
  ): Promise<ImportFile> => {
    const seen = await look(path, name);
    const isSame = () => assertUnchanged(path, seen);
    const watched = async function* (pieces: AsyncIterable<Piece>): AsyncGenerator<Piece> {
      try {
        for await (const piece of pieces) {
          await isSame();
          yield piece;
        }
      } catch (error) {
        await isSame();
        throw unreadable(name, error);
      }
      await isSame();
    };
    const { typed, ...file } = await readable(name, () =>
      format === 'ndjson'
        ? openLines(path, createLineMapper(options.mapping, numbered))
        : openTable(duckdb, path, format, options),
    );
    return {
      ...file,
      identity: `${seen.size} ${seen.mtimeMs} ${seen.ino}`,
      shape: typed?.shape ?? null,
      records: (from, rest) => watched(file.records(from, rest)),
      stretch: (number, { from, until }) => ({
        file: number,
        from,
        until,
        async fill(insert) {
          const rows = typed?.rows(from, until);
          if (rows === undefined) throw new Error(`${name} has no typed rows`);
          const error = await insert(rows).catch((cause: unknown) => cause);
          await isSame();
          if (error !== undefined) throw isOutOfMemory(error) ? error : unreadable(name, error);
        },
      }),
    };
  };
  const openRemote = async (url: string, format: ImportFormat): Promise<ImportFile> => {
    const here = async () => openLocal(await remote.fetch(url), url, format);
    const file =
      format === 'ndjson'
        ? { columns: null, rows: null, faults: [], shape: null }
        : await openLocal(await remote.fetchColumns(url, format), url, format);
    return {
      ...file,
      identity: remote.identityOf(url),
      async *records(from, rest) {
        yield* (await here()).records(from, rest);
      },
      stretch: (number, range) => ({
        file: number,
        ...range,
        fill: async (insert) => (await here()).stretch(number, range).fill(insert),
      }),
    };
  };
  return {
    find: async (pattern) =>
      isRemote(pattern)
        ? remote.find(pattern)
        : (
            await firstColumn(duckdb, `select file from glob(${literal(pattern)}) order by file`)
          ).map(String),
    open: (path, format) =>
      isRemote(path) ? openRemote(path, format) : openLocal(path, path, format),
    numbered,
    stage,
    async close() {
      duckdb.close();
      await stage.close();
      await remote.close();
    },
  };
}

type Seen = { readonly size: number; readonly mtimeMs: number; readonly ino: number };

async function look(path: string, name: string): Promise<Seen> {
  return readable(name, async () => {
    const found = await stat(path);
    if (!found.isFile()) throw new Error('it is not an ordinary file');
    return found;
  });
}

async function assertUnchanged(path: string, seen: Seen): Promise<void> {
  const now = await stat(path).catch(() => null);
  if (now?.size === seen.size && now.mtimeMs === seen.mtimeMs && now.ino === seen.ino) return;
  throw new AppError('file_changed', {
    detail: `${path} changed while it was read. What was sent before stays; import it again once it rests.`,
  });
}

async function readable<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw unreadable(path, error);
  }
}

function unreadable(path: string, error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof AppError) return error;
  const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
  const reason = isMissing ? 'there is no such file' : reasonOf(error);
  return new AppError('file_unreadable', {
    detail: `${path} cannot be read: ${reason}.`,
    cause: error,
  });
}

/** What DuckDB says, without its advice on its own options. */
function reasonOf(error: Error): string {
  if (!(error instanceof DuckDbError)) return error.message;
  const [said = ''] = error.message.split(/\n\s*(?:Possible|LINE 1:|\n)/);
  return said
    .replace(/^Invalid Input Error: /, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

/** A file of NDJSON. */
async function openLines(path: string, map: (line: string) => string): Promise<Content> {
  return {
    columns: null,
    rows: null,
    faults: [],
    typed: null,
    async *records(from) {
      const file = createReadStream(path, { highWaterMark: 2 ** 18 });
      const gunzip = path.endsWith('.gz') ? createGunzip() : null;
      file.on('error', (error) => gunzip?.destroy(error));
      const bytes: AsyncIterable<Buffer> = gunzip === null ? file : file.pipe(gunzip);
      let next = 0;
      try {
        for await (const { lines, end, overlongBytes } of splitLines(bytes, maxLineBytes)) {
          if (overlongBytes > 0) throw new Error(`line ${end.line + 1} has more than 16 MiB`);
          let text = '';
          const first = Math.max(from, next);
          for (const line of lines) {
            if (line.index < from) continue;
            // Lines that are blank stay, so that all keep their numbers. One that is not UTF-8 is refused as such.
            text += '\n'.repeat(line.index - Math.max(next, from));
            text += `${line.text === null ? notUtf8 : map(line.text)}\n`;
            next = line.index + 1;
          }
          if (text !== '') yield { text: encode(text), rows: next - first };
        }
      } finally {
        file.destroy();
        gunzip?.destroy();
      }
    },
  };
}

/** A character that UTF-8 has no bytes for: `encode` writes a byte that no UTF-8 has. */
const notUtf8 = '\ud800';

function encode(text: string): Buffer {
  if (!text.includes(notUtf8)) return Buffer.from(text);
  return Buffer.concat(
    text
      .split(notUtf8)
      .flatMap((part, index) => [...(index > 0 ? [Buffer.of(0xff)] : []), Buffer.from(part)]),
  );
}
