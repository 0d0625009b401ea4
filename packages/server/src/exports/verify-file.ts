import { createHash, type Hash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { formatDigest, sumDigests } from '../kernel/digest.ts';
import { type DuckDb, DuckDbError, isOutOfMemory } from '../platform/duckdb.ts';
import type { ExportRequest } from './contract.ts';
import { createFormat } from './formats/create-format.ts';
import type { FileOptions } from './formats/format.ts';
import { magic, readFooter, splitGroups } from './formats/parquet/footer.ts';
import { readHeader } from './formats/prove.ts';
import type { FileDifference, FileVerdict, Manifest, PartVerdict } from './jobs.contract.ts';
import type { DifferenceKind } from './values.ts';

/** A file that is checked, wherever it lies. */
export type FileSource = {
  readonly sizeBytes: number;
  /** Hands the bytes from `start` to before `end` to `write`. Returns why they are lost for good, else null. */
  read(stretch: Stretch, write: (piece: Uint8Array) => Promise<void>): Promise<string | null>;
};

type VerifyTools = {
  readonly duckdb: DuckDb;
  /** A folder of its own, with room for the largest part. */
  readonly dir: string;
  readonly signal: AbortSignal;
  /** Is told how many bytes of the file were read and parsed so far. */
  readonly onBytes: (bytes: number) => void;
};

/** Reads and parses a file whole: every byte is hashed, each part compared, and all differences are told. */
export async function verifyFile(
  manifest: Manifest,
  source: FileSource,
  tools: VerifyTools,
): Promise<FileVerdict> {
  const check = startCheck(manifest, source, tools);
  const { options, stretches, whole, read } = check;
  compareSums(check);
  // The tail of Parquet says where the rows of the parts are.
  const tail = await readEnd(check, stretches.tail);
  const head = await readEnd(check, stretches.head);
  whole.add(head);
  if (options.format === 'csv' && options.header && head !== null) await compareHeader(check);
  const layouts = options.format === 'parquet' ? findLayouts(check, tail) : [];
  const parts: PartVerdict[] = [];
  for (const [at, said] of manifest.parts.entries()) {
    parts.push(await checkPart(check, { at, said, layout: layouts[at] ?? null }));
  }
  whole.add(tail);
  const sha256 = whole.sha256();
  if (sha256 !== null && sha256 !== manifest.sha256) {
    check.differ(null, 'sha256', { expected: manifest.sha256, found: sha256 });
  }
  return {
    export_id: manifest.export_id,
    file_name: manifest.file_name,
    ok: check.differences.length === 0,
    proof: check.format.proof,
    rows: sumOf(parts.map(({ rows }) => rows)),
    digest: digestOf(parts.map(({ digest }) => digest)),
    bytes: read.bytes,
    sha256,
    parts,
    differences: check.differences,
  };
}

type Check = ReturnType<typeof startCheck>;

function startCheck(manifest: Manifest, source: FileSource, tools: VerifyTools) {
  const options = optionsOf(manifest);
  const differences: FileDifference[] = [];
  const differ = (
    part: number | null,
    kind: DifferenceKind,
    values: { expected?: string | number; found?: string | number; why?: string },
  ): void => {
    const { expected = null, found = null, why } = values;
    const where = part === null ? 'the file' : `part ${part} of ${manifest.parts.length}`;
    const what = why ?? `${names[kind]} ${found}, and not ${expected} as in the manifest`;
    differences.push({ part, kind, expected, found, message: `${where}: ${what}` });
  };
  return {
    manifest,
    source,
    tools,
    options,
    format: createFormat(options),
    stretches: stretchesOf(manifest),
    whole: createWholeHash(),
    read: { bytes: 0 },
    /** Where a stretch is copied to, so that it can be parsed. */
    path: join(tools.dir, 'part'),
    differences,
    differ,
  };
}

/** The SHA-256 of the bytes in their order; null once some were missing. */
function createWholeHash() {
  let hash: Hash | null = createHash('sha256');
  return {
    add(bytes: Uint8Array | null) {
      if (bytes === null) hash = null;
      else hash?.update(bytes);
    },
    sha256: () => hash?.digest('hex') ?? null,
  };
}

/** Compares the manifest with itself, and with the size of the file. */
function compareSums({ manifest, source, differ }: Check): void {
  const { parts, rows, digest, bytes } = manifest;
  const rowsOfParts = parts.reduce((sum, part) => sum + part.rows, 0);
  const digestOfParts = digestOf(parts.map((part) => part.digest));
  const pairs = [
    ['rows', rows, rowsOfParts],
    ['digest', digest, digestOfParts ?? ''],
  ] as const;
  for (const [kind, expected, found] of pairs) {
    if (found === expected) continue;
    const why = `its manifest says ${names[kind]} ${expected}, and ${found} of the parts together`;
    differ(null, kind, { expected, found, why });
  }
  if (source.sizeBytes !== bytes) {
    differ(null, 'bytes', { expected: bytes, found: source.sizeBytes });
  }
}

type Stretch = { readonly start: number; readonly end: number };

/** Copies a stretch of the file to where it can be parsed. Returns how many bytes it has; null when they are lost. */
async function copyStretch(
  { source, tools, read, path, differ }: Check,
  stretch: Stretch,
  { part, onPiece }: { part: number | null; onPiece: (piece: Uint8Array) => void },
): Promise<number | null> {
  let bytes = 0;
  const file = await open(path, 'w', 0o600);
  try {
    const lost = await source.read(stretch, async (piece) => {
      tools.signal.throwIfAborted();
      onPiece(piece);
      bytes += piece.length;
      read.bytes += piece.length;
      tools.onBytes(read.bytes);
      // This goes on where the piece before it ended.
      await file.writeFile(piece);
    });
    if (lost === null) return bytes;
    differ(part, 'lost', { why: lost });
    return null;
  } finally {
    await file.close();
  }
}

/** Reads the bytes before or after all parts; null when they are lost. */
async function readEnd(check: Check, stretch: Stretch): Promise<Buffer | null> {
  const pieces: Uint8Array[] = [];
  const onPiece = (piece: Uint8Array) => void pieces.push(piece);
  const bytes = await copyStretch(check, stretch, { part: null, onPiece });
  return bytes === null ? null : Buffer.concat(pieces);
}

/** Compares the names in the header, which was copied just now, with the columns of the manifest. */
async function compareHeader({ tools, options, path, differ }: Check): Promise<void> {
  const { compression, columns } = options;
  const expected = columns.join(',');
  const written = { path, compression, signal: tools.signal };
  const found = await readHeader(tools.duckdb, written, options).then(
    (names) => names.join(','),
    (error: unknown) => {
      if (error instanceof DuckDbError) return 'what cannot be parsed';
      throw error;
    },
  );
  if (found !== expected) differ(null, 'header', { expected, found });
}

/** The row groups of each part of a Parquet file. There are none when the footer is lost or cannot be read. */
function findLayouts(
  { manifest, options, differ }: Check,
  tail: Buffer | null,
): readonly unknown[] {
  if (tail === null) return [];
  try {
    const end = tail.length - magic.length - 4;
    const footer = tail.subarray(0, tail.readUInt32LE(end));
    if (footer.length !== end) throw new Error('it has another length than it says');
    const sizes = manifest.parts.map(({ bytes }) => bytes);
    return splitGroups(readFooter(footer, options), sizes);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    differ(null, 'unreadable', { why: `its footer cannot be read: ${why}` });
    return [];
  }
}

async function checkPart(
  check: Check,
  { at, said, layout }: { at: number; said: Manifest['parts'][number]; layout: unknown },
): Promise<PartVerdict> {
  const { stretches, whole, differences, differ } = check;
  const part = at + 1;
  const before = differences.length;
  const hash = createHash('sha256');
  const bytes = await copyStretch(check, stretches.parts[at] ?? { start: 0, end: 0 }, {
    part,
    onPiece(piece) {
      hash.update(piece);
      whole.add(piece);
    },
  });
  if (bytes === null) {
    whole.add(null);
    return { part, ok: false, rows: null, digest: null, bytes: 0, sha256: null };
  }
  const compare = <K extends 'bytes' | 'sha256' | 'rows' | 'digest'>(
    found: Readonly<Record<K, string | number | null>>,
  ) => {
    for (const kind of Object.keys(found) as K[]) {
      const value = found[kind];
      if (value !== null && value !== said[kind]) {
        differ(part, kind, { expected: said[kind], found: value });
      }
    }
  };
  const sha256 = hash.digest('hex');
  compare({ bytes, sha256 });
  const parsed = await parsePart(check, part, { bytes, rows: said.rows, layout });
  compare(parsed);
  return { part, ok: differences.length === before, ...parsed, bytes, sha256 };
}

/** Counts the rows of a part that was copied, and computes their digest. What cannot be told is null. */
async function parsePart(
  { tools, options, format, path, differ }: Check,
  part: number,
  { bytes, rows, layout }: { bytes: number; rows: number; layout: unknown },
): Promise<{ rows: number | null; digest: string | null }> {
  if (bytes === 0) return { rows: 0, digest: format.proof === 'content' ? digestOf([]) : null };
  // Without the footer nobody knows where the rows of Parquet are.
  if (options.format === 'parquet' && layout === null) return { rows: null, digest: null };
  const { dir, signal } = tools;
  const { compression } = options;
  try {
    const written = { path, layout, rows, compression, dir, signal };
    const proved = await format.prove(tools.duckdb, written);
    const digest = proved.digest === null ? null : formatDigest(BigInt(proved.digest));
    return { rows: proved.rows, digest };
  } catch (error) {
    if (!(error instanceof DuckDbError) || isOutOfMemory(error)) throw error;
    const [why = ''] = error.message.split('\n');
    differ(part, 'unreadable', { why: `its rows cannot be parsed: ${why}` });
    return { rows: null, digest: null };
  }
}

const names: Readonly<Record<DifferenceKind, string>> = {
  lost: 'bytes are lost',
  bytes: 'bytes',
  sha256: 'SHA-256',
  header: 'the header',
  unreadable: 'unreadable',
  rows: 'rows',
  digest: 'the digest',
};

function optionsOf({ format, compression, columns, ...manifest }: Manifest): FileOptions {
  const request: Pick<Partial<ExportRequest>, 'header' | 'profile' | 'template'> = manifest.request;
  const { template } = request;
  return {
    format,
    columns,
    fields: manifest.schema?.columns,
    template: template && { lines: template, missing: 'skip' },
    header: request.header !== false,
    profile: request.profile === 'spreadsheet' ? 'spreadsheet' : 'machine',
    compression,
  };
}

/** Where head, parts and tail lie. Around its parts Parquet has a magic before, CSV no tail, NDJSON neither. */
function stretchesOf({ format, bytes, parts }: Manifest) {
  const ofParts = parts.reduce((sum, part) => sum + part.bytes, 0);
  const start = format === 'parquet' ? magic.length : Math.max(0, bytes - ofParts);
  let end = start;
  const placed = parts.map((part) => {
    const from = end;
    end += part.bytes;
    return { start: from, end };
  });
  return {
    head: { start: 0, end: start },
    parts: placed,
    tail: { start: end, end: Math.max(end, bytes) },
  };
}

function sumOf(values: readonly (number | null)[]): number | null {
  return values.reduce((sum, value) => (sum === null || value === null ? null : sum + value), 0);
}

function digestOf(digests: readonly (string | null)[]): string | null {
  const known = digests.filter((digest) => digest !== null);
  if (known.length < digests.length) return null;
  return formatDigest(sumDigests(known.map((digest) => BigInt(`0x${digest}`))));
}
