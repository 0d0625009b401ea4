import sql from 'sql-template-tag';
import { beforeEach, expect, test } from 'vitest';
import { useTestDatabase } from '../../../test/database.ts';
import { hold } from '../../../test/held-pace.ts';
import { AppError } from '../../kernel/errors.ts';
import type { Session } from './database.ts';
import { addShares, doShares, endShares, hasFreeShare, heldLocks } from './shares.ts';

const db = useTestDatabase();
const stored: string[] = [];
beforeEach(async () => {
  stored.length = 0;
  await db.query(sql`truncate work_shares`);
});

const signal = new AbortController().signal;
/**
 * Does what is left of the job. The name of whoever stored the outcome of a share, or what was wrong with it, is noted.
 */
const doAll = (
  session: Session,
  name: string,
  before: (work: string) => Promise<void> | void,
  atOnce = 1,
) =>
  doShares<string>(
    db,
    { job: 'j', session, signal },
    {
      atOnce,
      async doShare(work) {
        await before(work);
        return async () => {
          stored.push(`${name} ${work}`);
        };
      },
      async fail(_, error) {
        stored.push(`${name}: ${String(error)}`);
      },
    },
  );
const listWorks = () => db.query(sql`select work from work_shares where job = 'j' order by number`);
const isFree = async () => {
  const [row] = await db.query<{ free: boolean }>(
    sql`with ${heldLocks} select ${hasFreeShare(sql`'j'::text`)} as free`,
  );
  return row?.free;
};
const untilFree = () => expect.poll(isFree, { timeout: 120_000 }).toBe(true);

test('shares are done in their order, and the end comes after the last', async () => {
  await addShares(db, 'j', ['a', 'b']);
  await addShares(db, 'other', ['z']);
  const session = await db.openSession();
  const ended: string[] = [];
  const end = () => endShares(db, { job: 'j', session }, async () => void ended.push(...stored));
  expect(await end()).toBe(false);
  expect(await isFree()).toBe(true);
  await doAll(session, 'one', async () => expect(await end()).toBe(false));
  expect(await isFree()).toBe(true);
  expect(await end()).toBe(true);
  expect(ended).toEqual(['one a', 'one b']);
  await session.close();
});

/** Fails at one share, once another two are under way. */
function failAt(broken: string, error: Error) {
  const [met, begun] = [hold(), new Set<string>()];
  return async (work: string) => {
    begun.add(work);
    if (begun.size === 3) met.resolve();
    await met.promise;
    if (work === broken) throw error;
  };
}

test('several at once take each share once, and a fault is the end of all when those under way have ended', async () => {
  await addShares(db, 'j', ['a', 'b', 'c', 'd', 'e', 'f']);
  const session = await db.openSession();
  await doAll(session, 'one', failAt('b', new Error('broken')), 3);
  expect(stored.sort()).toEqual(['one a', 'one c', 'one: Error: broken']);
  expect(await listWorks()).toEqual([]);
  await session.close();
});

test('a database that is away fails no job, and leaves the shares to whoever comes next', async () => {
  await addShares(db, 'j', ['a', 'b', 'c', 'd', 'e', 'f']);
  const session = await db.openSession();
  await expect(
    doAll(session, 'one', failAt('b', new AppError('database_unavailable')), 3),
  ).rejects.toThrow('database_unavailable');
  expect(stored.sort()).toEqual(['one a', 'one c']);
  await session.close();
  await untilFree();
  const next = await db.openSession();
  await doAll(next, 'next', () => {});
  expect(stored.slice(2)).toEqual(['next b', 'next d', 'next e', 'next f']);
  await next.close();
});

test('a frozen process fails no job whose share another one has taken', async () => {
  await addShares(db, 'j', ['a', 'b']);
  const [frozen, other] = [await db.openSession(), await db.openSession()];
  await doAll(frozen, 'frozen', async () => {
    await frozen.close();
    await untilFree();
    await doAll(other, 'other', (work) => {
      if (work === 'b') throw new AppError('database_unavailable');
    }).catch(() => {});
    throw new Error('broken');
  });
  expect(stored).toEqual(['other a']);
  expect(await listWorks()).toEqual([{ work: 'b' }]);
  await other.close();
});

test('a share that a frozen process had is done once more, and stored by whoever took it last', async () => {
  await addShares(db, 'j', ['a']);
  const [frozen, other] = [await db.openSession(), await db.openSession()];
  await doAll(frozen, 'frozen', async () => {
    expect(await isFree()).toBe(false);
    // What PostgreSQL does to a session that was silent for too long. The process has not heard of it yet.
    await frozen.close();
    await untilFree();
    await doAll(other, 'other', () => {});
  }).catch(() => {});
  expect(stored).toEqual(['other a']);
  await other.close();
});

test('a frozen process does not end the share that another one is at work on', async () => {
  await addShares(db, 'j', ['a']);
  const [frozen, other] = [await db.openSession(), await db.openSession()];
  const [taken, thawed] = [hold(), hold()];
  let atOther: Promise<void> | undefined;
  await doAll(frozen, 'frozen', async () => {
    await frozen.close();
    await untilFree();
    atOther = doAll(other, 'other', () => {
      taken.resolve();
      return thawed.promise;
    });
    await taken.promise;
  }).catch(() => {});
  expect(stored).toEqual([]);
  expect(await isFree()).toBe(false);
  thawed.resolve();
  await atOther;
  expect(stored).toEqual(['other a']);
  await other.close();
});

test('the end is free for others when the process dies that was at it, and is begun by one', async () => {
  const [first, second] = [await db.openSession(), await db.openSession()];
  const ends: string[] = [];
  await endShares(db, { job: 'j', session: first }, async () => {
    expect(await isFree()).toBe(false);
    const end = () => endShares(db, { job: 'j', session: second }, async () => void ends.push('2'));
    expect(await end()).toBe(false);
    await first.close();
    await untilFree();
    expect(await end()).toBe(true);
  }).catch(() => {});
  expect(ends).toEqual(['2']);
  await second.close();
});
