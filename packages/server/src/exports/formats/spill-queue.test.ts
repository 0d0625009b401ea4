import { open, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { useFolder } from '../../../test/folder.ts';
import { runs } from '../../../test/runs.ts';
import { bytesOf, filePiece } from '../encode/chunk-files.ts';
import { SpillQueue } from './spill-queue.ts';

const miB = 1024 * 1024;
const dir = useFolder('once');

async function readAll(queue: SpillQueue): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of bytesOf(queue.chunks())) chunks.push(chunk);
  return Buffer.concat(chunks);
}

test('a writer far ahead of its reader never waits below the limit, and the order is kept', async () => {
  const queue = new SpillQueue(dir.path, 64 * miB);
  const chunks = Array.from({ length: 300 }, (_, n) => Buffer.alloc(100_000, n));
  for (const chunk of chunks) await queue.push(chunk);
  expect(await readdir(dir.path)).toEqual([]);
  queue.end();
  expect((await readAll(queue)).equals(Buffer.concat(chunks))).toBe(true);
  await queue.close();
});

test('a full file makes the writer wait until the reader has emptied it', async () => {
  const queue = new SpillQueue(dir.path, 2 * miB);
  const chunks = Array.from({ length: 40 }, (_, n) => Buffer.alloc(miB / 2, n));
  let pushed = 0;
  const writing = (async () => {
    for (const chunk of chunks) {
      await queue.push(chunk);
      pushed += 1;
    }
    queue.end();
  })();
  const reader = bytesOf(queue.chunks());
  const first = await reader.next();
  // 4 MiB in memory and 2 MiB in the file, and what was just taken out.
  expect(pushed).toBeLessThanOrEqual(14);
  const rest: Buffer[] = [first.value ?? Buffer.alloc(0)];
  for await (const chunk of reader) rest.push(chunk);
  await writing;
  expect(Buffer.concat(rest).equals(Buffer.concat(chunks))).toBe(true);
  await queue.close();
});

test.runIf(process.platform === 'linux')(
  'on a full disk the reader sets the pace, and every byte arrives',
  async () => {
    // A device on which each write ends with ENOSPC.
    const queue = new SpillQueue(dir.path, 64 * miB, () => open('/dev/full', 'r+'));
    const chunks = Array.from({ length: 12 }, (_, n) => Buffer.alloc(miB, n));
    const reading = readAll(queue);
    for (const chunk of chunks) await queue.push(chunk);
    queue.end();
    expect((await reading).equals(Buffer.concat(chunks))).toBe(true);
    await queue.close();
  },
);

test('a patient writer waits for room in memory and writes nothing to the disk', async () => {
  const queue = new SpillQueue(join(dir.path, 'nowhere'), 64 * miB);
  const chunks = Array.from({ length: 12 }, (_, n) => Buffer.alloc(miB, n));
  let pushed = 0;
  const writing = (async () => {
    for (const chunk of chunks) {
      await queue.push(chunk, true);
      pushed += 1;
    }
    queue.end();
  })();
  const reader = bytesOf(queue.chunks());
  const first = await reader.next();
  expect(pushed).toBeLessThanOrEqual(5);
  const rest: Buffer[] = [first.value ?? Buffer.alloc(0)];
  for await (const chunk of reader) rest.push(chunk);
  await writing;
  expect(Buffer.concat(rest).equals(Buffer.concat(chunks))).toBe(true);
});

test.each([true, false])('a file of rows keeps its place (patient: %s)', async (isPatient) => {
  const queue = new SpillQueue(dir.path, 64 * miB);
  const [before, rows, after] = [1, 2, 3].map((n) => Buffer.alloc(3 * miB, n));
  const path = join(dir.path, 'rows');
  await writeFile(path, Buffer.concat([Buffer.from('PAR1'), rows as Buffer, Buffer.from('end')]));
  const piece = filePiece(path, { start: 4, end: 4 + 3 * miB });
  const reading = readAll(queue);
  await queue.push(before ?? Buffer.alloc(0), isPatient);
  await queue.push(piece, isPatient);
  await queue.push(after ?? Buffer.alloc(0), isPatient);
  queue.end();
  expect((await reading).equals(Buffer.concat([before, rows, after] as Buffer[]))).toBe(true);
  expect(await readdir(dir.path)).toEqual([]);
  await queue.close();
});

test('any sizes and any pace give the same bytes', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 900_000 }), { maxLength: 30 }),
      fc.scheduler(),
      async (sizes, scheduler) => {
        const queue = new SpillQueue(dir.path, miB);
        const chunks = sizes.map((size, n) => Buffer.alloc(size, n));
        const writing = (async () => {
          for (const chunk of chunks) {
            await scheduler.schedule(Promise.resolve());
            await queue.push(chunk);
          }
          queue.end();
        })();
        const reading = readAll(queue);
        await scheduler.waitFor(writing);
        expect((await reading).equals(Buffer.concat(chunks))).toBe(true);
        await queue.close();
      },
    ),
    { numRuns: runs(40) },
  );
});

test('a failure reaches both sides', async () => {
  const queue = new SpillQueue(dir.path, miB);
  const reading = readAll(queue);
  queue.fail(new Error('the disk is on fire'));
  await expect(reading).rejects.toThrow('on fire');
  await expect(queue.push(Buffer.alloc(1))).rejects.toThrow('on fire');
  await queue.close();
});

test('closing wakes a writer that waits', async () => {
  const queue = new SpillQueue(dir.path, miB);
  const writing = (async () => {
    for (;;) await queue.push(Buffer.alloc(miB));
  })();
  const outcome = expect(writing).rejects.toThrow('closed');
  await queue.close();
  await outcome;
});
