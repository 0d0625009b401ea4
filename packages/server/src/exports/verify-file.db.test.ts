import { beforeAll, describe, expect, test } from 'vitest';
import { freeze } from '../records/read/testing/freeze.ts';
import type { ExportRequest } from './contract.ts';
import { bytesOf } from './encode/chunk-files.ts';
import { createFormat } from './formats/create-format.ts';
import type { FileFormat, FileOptions } from './formats/format.ts';
import { magic } from './formats/parquet/footer.ts';
import { manifestOf } from './jobs/list.ts';
import { useTestExports } from './jobs/testing/test-exports.ts';
import type { FileVerdict, Manifest } from './jobs.contract.ts';
import type { ExportFormat } from './values.ts';
import { type FileSource, verifyFile } from './verify-file.ts';

const exports = useTestExports();
beforeAll(async () => {
  await exports.ingest('T', 50);
  await freeze(exports.db, exports.cold, { tenant: 'T', id: 'seg_1' });
});

type Made = { manifest: Manifest; file: Buffer };

async function make(
  format: ExportFormat,
  body: Partial<ExportRequest> = {},
  makeFormat: (options: FileOptions) => FileFormat = createFormat,
): Promise<Made> {
  const { id } = await exports.create(format, { tenant: 'T', ...body });
  await exports.work({ createFormat: makeFormat });
  const job = await exports.job(id);
  expect(job).toMatchObject({ state: 'completed', error: null });
  return { manifest: manifestOf(job), file: await exports.file(id) };
}

/** Verifies bytes, from which whole stretches may be lost. */
function verify(
  { manifest, file }: Made,
  lostFrom: (start: number) => boolean = () => false,
): Promise<FileVerdict> {
  const source: FileSource = {
    sizeBytes: file.length,
    async read({ start, end }, write) {
      if (lostFrom(start)) return 'it is not in the store';
      // A source hands what it has in pieces of any size.
      for (let at = start; at < Math.min(end, file.length); at += 1000) {
        await write(file.subarray(at, Math.min(at + 1000, end)));
      }
      return null;
    },
  };
  const signal = new AbortController().signal;
  return verifyFile(manifest, source, {
    duckdb: exports.cold.duckdb,
    dir: exports.cold.spoolDir,
    signal,
    onBytes() {},
  });
}

/** Where a part begins in the file. */
function startOf({ manifest, file }: Made, number: number): number {
  const sizes = manifest.parts.map(({ bytes }) => bytes);
  const all = sizes.reduce((sum, bytes) => sum + bytes, 0);
  const head = manifest.format === 'parquet' ? magic.length : file.length - all;
  return sizes.slice(0, number - 1).reduce((sum, bytes) => sum + bytes, head);
}

const found = ({ differences }: FileVerdict) => differences.map(({ part, kind }) => [part, kind]);

/** Forms of a file, and whether the digest can be computed from their rows. */
const forms = [
  ['csv', { compression: 'gzip' }, 'content'],
  ['csv', { compression: 'zstd', header: false }, 'content'],
  ['csv', { profile: 'spreadsheet' }, 'rows'],
  ['csv', { columns: ['event_id', 'enrichment.n'], compression: 'gzip' }, 'rows'],
  ['ndjson', { compression: 'zstd' }, 'content'],
  ['ndjson', { columns: ['event_id', 'kind'], compression: 'gzip' }, 'rows'],
  ['parquet', { columns: ['event_id', 'enrichment.n'] }, 'rows'],
  ['parquet', {}, 'content'],
] as const;

const shared = new Map<string, Promise<Made>>();
/** A file that other tests look at, too. */
function share(format: ExportFormat, body: object): Promise<Made> {
  const name = JSON.stringify([format, body]);
  const file = shared.get(name) ?? make(format, body);
  shared.set(name, file);
  return file;
}

test.each(forms)('a file of %s %j is what its manifest says', async (format, body, proof) => {
  const made = await share(format, body);
  const { manifest, file } = made;
  expect(manifest.parts.length).toBeGreaterThan(2);
  const told = proof === 'content' ? {} : { digest: null };
  expect(await verify(made)).toEqual({
    export_id: manifest.export_id,
    file_name: manifest.file_name,
    ok: true,
    proof,
    rows: 50,
    digest: manifest.digest,
    bytes: file.length,
    sha256: manifest.sha256,
    parts: manifest.parts.map((part, at) => ({ part: at + 1, ok: true, ...part, ...told })),
    differences: [],
    ...told,
  });
});

describe.each([
  ['csv', {}],
  ['ndjson', { compression: 'zstd' }],
  ['parquet', {}],
] as const)('a file of %s %j', (format, body) => {
  let made: Made;
  beforeAll(async () => {
    made = await share(format, body);
  });

  test('with a changed byte differs in the part that has it', async () => {
    const file = Buffer.from(made.file);
    const at = startOf(made, 2) + 40;
    file.writeUInt8(file.readUInt8(at) ^ 1, at);
    const verdict = await verify({ ...made, file });
    expect(verdict.ok).toBe(false);
    expect(found(verdict)[0]).toEqual([2, 'sha256']);
    expect(found(verdict).at(-1)).toEqual([null, 'sha256']);
    expect(verdict.parts.map(({ ok }) => ok)).toEqual(made.manifest.parts.map((_, n) => n !== 1));
    expect(verdict.differences[0]?.message).toMatch(
      /^part 2 of \d+: SHA-256 [0-9a-f]{64}, and not/,
    );
  });

  test('that is cut off differs from there on', async () => {
    const verdict = await verify({ ...made, file: made.file.subarray(0, startOf(made, 2) + 10) });
    expect(found(verdict)[0]).toEqual([null, 'bytes']);
    expect(found(verdict)).toContainEqual([2, 'bytes']);
    expect(verdict.parts.slice(2).every(({ ok, bytes }) => !ok && bytes === 0)).toBe(true);
  });

  test('with a lost part says which, and looks at the others', async () => {
    const verdict = await verify(made, (start) => start === startOf(made, 2));
    const count = made.manifest.parts.length;
    const message = `part 2 of ${count}: it is not in the store`;
    expect(verdict.differences).toEqual([
      { part: 2, kind: 'lost', expected: null, found: null, message },
    ]);
    expect(verdict.parts.filter(({ ok }) => ok)).toHaveLength(count - 1);
    expect(verdict).toMatchObject({ ok: false, rows: null, digest: null, sha256: null });
  });
});

/** An encoder that changes what it has encoded, and takes the digest of the records that it was given. */
function lying(change: (text: string) => string) {
  return (options: FileOptions): FileFormat => {
    const format = createFormat(options);
    return {
      ...format,
      startBody(source, slice, bodyOptions) {
        const body = format.startBody(source, slice, bodyOptions);
        return {
          ...body,
          async *chunks() {
            for await (const chunk of bytesOf(body.chunks())) {
              yield Buffer.from(change(chunk.toString('latin1')), 'latin1');
            }
          },
        };
      },
    };
  };
}

describe('what a job cannot see in a part that it does not read back', () => {
  // The first part, which is read back, has no records of store B.
  const lies = {
    'a wrong value': [/("T","B",[^,]*,)"k-/, '$1"x-', 'digest'],
    'a pair of swapped values': [/("T","B",)([^,]*),("k-\d+"),/, '$1$3,$2,', 'digest'],
    'a time that is none': [/("T","B",[^,]*,"k-\d+",)2/, '$1x', 'unreadable'],
    'a lost row': [/^"T","B".*?}"\n/ms, '', 'rows'],
  } as const;
  test.each(Object.entries(lies))('%s is found', async (_, [wrong, right, kind]) => {
    const lie = lying((text) => text.replace(wrong, right));
    const made = await make('csv', {}, lie);
    expect(made.manifest.proof).toBe('sample');
    const verdict = await verify(made);
    expect(verdict.ok).toBe(false);
    const kinds = new Set(verdict.differences.map((difference) => difference.kind));
    expect(kinds).toContain(kind);
    // The bytes are those that the job has made.
    expect(kinds).not.toContain('sha256');
    expect(verdict.parts[0]?.ok).toBe(true);
  });
});

test('a header that names other columns than the manifest is found', async () => {
  const renamed = (options: FileOptions) => {
    const format = createFormat(options);
    return { ...format, head: Buffer.from(format.head.toString().replace('kind', 'sort')) };
  };
  const form = { profile: 'spreadsheet', compression: 'zstd' } as const;
  const verdict = await verify(await make('csv', form, renamed));
  expect(found(verdict)).toEqual([[null, 'header']]);
  expect(verdict.differences[0]?.message).toContain('sort');
});

test('rows without what the digest needs are counted all the same', async () => {
  const made = await share('ndjson', { columns: ['event_id', 'kind'], compression: 'gzip' });
  const { manifest } = made;
  const [first, ...others] = manifest.parts;
  if (first === undefined) throw new Error('the file has no part');
  const parts = [{ ...first, rows: first.rows + 1 }, ...others];
  const verdict = await verify({ ...made, manifest: { ...manifest, parts } });
  expect(found(verdict)).toEqual([
    [null, 'rows'],
    [1, 'rows'],
  ]);
  expect(verdict.differences[1]).toMatchObject({ expected: first.rows + 1, found: first.rows });
});

test('a manifest with another digest than its parts differs from itself', async () => {
  const made = await share('ndjson', { compression: 'zstd' });
  const manifest = { ...made.manifest, digest: 'f'.repeat(16) };
  expect(found(await verify({ ...made, manifest }))).toEqual([[null, 'digest']]);
});

test('the footer of Parquet that is damaged is told, and the bytes are compared all the same', async () => {
  const made = await share('parquet', {});
  const file = Buffer.from(made.file);
  file.writeUInt32LE(7, file.length - 8);
  const verdict = await verify({ ...made, file });
  expect(found(verdict)).toEqual([
    [null, 'unreadable'],
    [null, 'sha256'],
  ]);
  expect(verdict).toMatchObject({ ok: false, rows: null, digest: null });
});

test('a file without rows is what its manifest says', async () => {
  for (const format of ['csv', 'ndjson', 'parquet'] as const) {
    const made = await make(format, { tenant: 'EMPTY', compression: 'gzip' });
    expect(await verify(made)).toMatchObject({ ok: true, rows: 0, differences: [] });
  }
});
