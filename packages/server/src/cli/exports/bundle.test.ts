import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { runs } from '../../../test/runs.ts';
import { tarEnd, tarHeader, tarPaddingBytes } from '../../kernel/tar.ts';
import { answerOf } from '../testing/answers.ts';
import { offerFile, servesFile } from '../testing/export-jobs.ts';
import { prepareCli } from '../testing/prepare-cli.ts';
import { json } from '../testing/receiver.ts';
import { ends, useFolder } from '../testing/run.ts';

const folder = useFolder();
const { api, cli, sent } = prepareCli(folder);

const bundle = 'records versions bundle ver_1 --dir b';
const dataName = 'data/train-00000-of-00001.parquet';
const texts = { [dataName]: 'x'.repeat(3000), 'README.md': 'y'.repeat(1024), SHA256SUMS: 'sums\n' };

function tarOf(files: Readonly<Record<string, string>>): Buffer {
  const blocks = Object.entries(files).flatMap(([name, text]) => [
    tarHeader({ name, sizeBytes: text.length, at: 0 }),
    Buffer.from(text),
    Buffer.alloc(tarPaddingBytes(text.length)),
  ]);
  return Buffer.concat([...blocks, tarEnd]);
}

const version = answerOf('GET /enrichment/dataset-versions/:id', {
  ...{ id: 'ver_1', tenant: 'TX', name: '2026-q1', state: 'ready' },
  shares: { train: 100, validation: 0, test: 0 },
});
const path = (name: string) => join(folder.path, 'b', name);
const names = async (name: string) => (await readdir(path(name))).sort();
const isThere = async (name: string) => (await stat(path(name)).catch(() => null)) !== null;

const sizeOf = async (name: string) => (await stat(path(name)).catch(() => ({ size: 0 }))).size;
const arrived = async () => [await sizeOf(dataName), await sizeOf('README.md')];
/** What of the first two files lies before a place in the tar. */
const until = (cut: number) =>
  [512, 512 + 3072 + 512].map((start, at) =>
    Math.max(0, Math.min(cut - start, [3000, 1024][at] ?? 0)),
  );

/** Offers a tar by a job that is found from then on. */
function offer(content: Buffer, serving?: Parameters<typeof servesFile>[1]) {
  const of = { format: 'bundle', version: 'ver_1' } as const;
  const job = offerFile(api, content, { job: of, file: servesFile(content, serving) });
  api.on('GET /enrichment/dataset-versions/ver_1', json(version));
  api.on('GET /exports', json({ data: [{ ...job, version: 'other' }], next_cursor: null }));
  api.on('POST /exports/bundle', (request, response) => {
    api.on('GET /exports', json({ data: [job], next_cursor: null }));
    return json(job, 202)(request, response);
  });
  return job;
}

test('a run goes on to the byte with what one before has unpacked, wherever it was cut', async () => {
  const content = tarOf(texts);
  await fc.assert(
    fc.asyncProperty(fc.nat(content.length - 1), async (cut) => {
      api.reset();
      await rm(path('.'), { recursive: true, force: true });
      let requests = 0;
      let isCut = true;
      const breakAfter = () => {
        requests += 1;
        if (!isCut) return null;
        return requests === 1 ? cut : 0;
      };
      offer(content, { breakAfter, beforeBreak: () => expect.poll(arrived).toEqual(until(cut)) });
      expect((await cli(bundle)).code).toBe(5);
      expect(await isThere('SHA256SUMS')).toBe(false);
      isCut = false;
      const before = api.requests.length;
      expect((await cli(bundle)).code).toBe(0);
      expect(sent('POST', '/exports/bundle')).toEqual([{ tenant: 'TX', version: 'ver_1' }]);
      for (const [name, text] of Object.entries(texts)) {
        expect(await readFile(path(name), 'utf8')).toBe(text);
      }
      expect(await names('.')).toEqual(['README.md', 'SHA256SUMS', 'data', 'manifests']);
      const ranges = api.requests.slice(before).flatMap(({ headers }) => headers.range ?? []);
      expect(ranges).toHaveLength(cut < 512 ? 0 : 1);
    }),
    { numRuns: runs(20) },
  );
});

test('of two commands into one folder the later one makes the bundle, and the earlier one stops', async () => {
  const content = tarOf(texts);
  let second: ReturnType<typeof cli> | undefined;
  let requests = 0;
  offer(content, {
    breakAfter: () => (++requests === 1 ? 2000 : null),
    async beforeBreak() {
      second = cli(bundle);
      await second;
    },
  });
  await ends(cli(bundle), 1, ['nother command bundles into', 'file_unreadable']);
  expect((await second)?.code).toBe(0);
  for (const [name, text] of Object.entries(texts)) {
    expect(await readFile(path(name), 'utf8')).toBe(text);
  }
  expect(await names('.')).toEqual(['README.md', 'SHA256SUMS', 'data', 'manifests']);
});

test('what leads out of the folder is not unpacked, nor what is no tar', async () => {
  offer(tarOf({ '../out': 'x', ...texts }));
  await ends(cli(bundle), 1, ['"../out"', 'answer_unexpected']);
  expect(await readdir(folder.path)).toEqual(['b']);
  offer(Buffer.alloc(2048, 'no tar'));
  await ends(cli(bundle), 1, ['no tar of plain files', 'answer_unexpected']);
  expect(await isThere('SHA256SUMS')).toBe(false);
});

test('bytes that are not those announced are no bundle', async () => {
  const job = offer(tarOf(texts));
  const other = tarOf({ ...texts, SHA256SUMS: 'smus\n' });
  api.on('GET /exports/exp_1/file', servesFile(other, { etag: `"${job.sha256}"` }));
  await ends(cli(bundle), 1, ['export_mismatch']);
  expect(await names('.')).toEqual(['data', 'manifests']);
  expect(await names('data')).toEqual([]);
});

test('a split that is not what was frozen is told as that', async () => {
  const job = offer(tarOf(texts));
  const error = 'train of 2026-q1 has 1 row';
  const failed = { state: 'failed', has_file: false, error_code: 'version_changed', error };
  api.on('GET /exports/exp_1', json({ ...job, ...failed }));
  api.on('POST /exports/bundle', json({ ...job, state: 'queued', has_file: false }, 202));
  await ends(cli(bundle), 6, [error, '(version_changed)']);
  expect(await readdir(folder.path)).toEqual([]);
});
