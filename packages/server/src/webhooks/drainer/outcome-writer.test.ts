import { expect, test, vi } from 'vitest';
import { createLog } from '../../platform/log.ts';
import { openDatabase } from '../../platform/postgres/open-database.ts';
import { type Ended, OutcomeWriter } from './outcome-writer.ts';

test('what cannot be written while its lease lasts is given up, with a warning', async () => {
  const url = 'postgres://nobody@127.0.0.1:1/none';
  const db = openDatabase({ url, maxConnections: 1, onError: () => {} });
  const log = createLog('silent');
  const [warn, mistake] = [vi.spyOn(log, 'warn'), vi.spyOn(log, 'error')];
  let now = 0;
  const given: (readonly Ended[])[] = [];
  const writer = new OutcomeWriter(db, {
    log,
    now: () => now,
    giveUpMillis: 1000,
    keeper: () => 1,
    onWritten: (ended) => given.push(ended),
  });
  const ended = { startedAt: 0, row: { status: 'pending' }, before: {}, breaker: null };
  writer.add(ended as Ended);
  await expect.poll(() => warn.mock.calls.length).toBeGreaterThan(0);
  expect(given).toEqual([]);
  now = 1001;
  await writer.drain();
  expect(given).toEqual([[ended]]);
  expect(warn).toHaveBeenLastCalledWith({ count: 1 }, expect.stringContaining('are lost'));
  expect(mistake).not.toHaveBeenCalled();
  await db.close();
});
