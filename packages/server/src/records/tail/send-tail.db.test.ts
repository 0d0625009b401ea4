import { randomBytes } from 'node:crypto';
import pino from 'pino';
import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { untilLockWaits } from '../../../test/one-server.ts';
import { startTestService, useTestService } from '../../../test/service.ts';
import { createRecords, numberedRecords, storeRecords } from '../ingest/testing/post-records.ts';
import { useColdStore } from '../read/testing/cold-store.ts';
import { freeze } from '../read/testing/freeze.ts';
import { forgetParts } from '../stored/queries.ts';
import { openTail } from './testing/open-tail.ts';

const logged: { reqId?: string }[] = [];
const log = pino({ level: 'info' }, { write: (line: string) => logged.push(JSON.parse(line)) });
const waits = { tailStallMillis: 1000, tailQuietMillis: 50 };
const service = useTestService({}, log, { waits });
const cold = useColdStore(service);
const record = createRecords();

const idsOf = (records: readonly { event_id: string }[]) => records.map(({ event_id }) => event_id);
const past = '2000-01-01T00:00:00Z';

test('tells each record once, as it is stored, and nothing of before', async () => {
  await storeRecords(service, numberedRecords('LIVE', 3));
  const tail = await openTail(service, { tenant: 'LIVE' });
  const others = numberedRecords('OTHER', 2);
  const added = numberedRecords('LIVE', 5, (n) => ({ event_id: `new${n}` }));
  await storeRecords(service, others);
  for (const one of added) await storeRecords(service, [one]);
  await expect.poll(() => tail.seen()).toEqual(idsOf(added));
  const page = await service.call('GET', '/enrichment/records?tenant=LIVE&event_id=new4');
  expect(tail.events.at(-1)?.data).toBe(page.text.slice('{"data":['.length).split('],"next_')[0]);
  tail.close();
});

test('a tail that is cut goes on where it was, in the middle of a part as well', async () => {
  const stored = numberedRecords('CUT', 1200, (n) => ({
    event_id: `e${String(n).padStart(4, '0')}`,
  }));
  await storeRecords(service, stored);
  const whole = await openTail(service, { tenant: 'CUT', since: past, follow: 'false' });
  await whole.ended;
  expect(whole.seen()).toEqual(idsOf(stored));
  for (const at of [0, 499, 500, 777, 1199]) {
    const headers = { 'last-event-id': whole.events[at]?.id ?? '' };
    const rest = await openTail(service, { tenant: 'CUT', follow: 'false' }, { headers });
    await rest.ended;
    expect(rest.seen()).toEqual(idsOf(stored.slice(at + 1)));
  }
  const none = await openTail(service, { tenant: 'CUT', follow: 'false', after: whole.lastId() });
  await none.ended;
  expect([none.status, none.seen()]).toEqual([200, []]);
});

test('tells only of its slice', async () => {
  await storeRecords(service, [
    record({ tenant: 'SLICE', event_id: 'a', store: 'A', kind: 'x' }),
    record({ tenant: 'SLICE', event_id: 'b', store: 'B', kind: 'x', source: 's' }),
    record({ tenant: 'SLICE', event_id: 'c', store: 'B', kind: 'y', source: 's' }),
    record({ tenant: 'SLICE', event_id: 'd', store: 'B', occurred_at: '2020-03-01T00:00:00Z' }),
  ]);
  const told = async (filter: Record<string, string>) => {
    const tail = await openTail(service, {
      tenant: 'SLICE',
      since: past,
      follow: 'false',
      ...filter,
    });
    await tail.ended;
    return tail.seen().join('');
  };
  expect(await told({})).toBe('abcd');
  expect(await told({ store: 'B' })).toBe('bcd');
  expect(await told({ month: '2020-02' })).toBe('abc');
  expect(await told({ from: '2020-03-01', to: '2020-03-02' })).toBe('d');
  expect(await told({ kind: 'x' })).toBe('ab');
  expect(await told({ kind: 'x', source: 's' })).toBe('b');
  expect(await told({ event_id: 'c' })).toBe('c');
});

test('tells of a where what fits, hot and moved, and goes on over what does not', async () => {
  const stored = numberedRecords('WHERE', 2600, (n) => ({
    event_id: `e${String(n).padStart(4, '0')}`,
    occurred_at: `2001-01-0${1 + Math.floor(n / 700)}T00:00:00.${String(n).padStart(6, '0')}Z`,
    enrichment: { n, noise: 'x'.repeat(200) },
  }));
  await storeRecords(service, stored);
  const where = 'n in (3, 699, 700, 1399) or n >= 2598';
  const fitting = ['e0003', 'e0699', 'e0700', 'e1399', 'e2598', 'e2599'];
  const tell = async (query: Record<string, string>) => {
    const tail = await openTail(service, { tenant: 'WHERE', where, follow: 'false', ...query });
    await tail.ended;
    return tail;
  };
  for (const lastDay of [undefined, '2001-01-02', '2001-01-04']) {
    if (lastDay) await freeze(service.db, cold, { tenant: 'WHERE', id: `to_${lastDay}`, lastDay });
    const whole = await tell({ since: past });
    expect(whole.seen()).toEqual(fitting);
    expect((await tell({ after: whole.events[2]?.id ?? '' })).seen()).toEqual(fitting.slice(3));
    const none = await tell({ since: past, where: 'n < 0' });
    expect(none.seen()).toEqual([]);
    expect((await tell({ where: 'n < 0', after: none.lastId() })).lastId()).not.toBe('');
  }
  const live = await openTail(service, { tenant: 'WHERE', where: 'not exists(n)' });
  await storeRecords(service, [
    record({ tenant: 'WHERE', event_id: 'unfit', enrichment: { n: 1 } }),
    record({ tenant: 'WHERE', event_id: 'fit', enrichment: { m: 1 } }),
  ]);
  await expect.poll(() => live.seen()).toEqual(['fit']);
  live.close();
});

test('tells the place also while all that is stored fits nothing', async () => {
  const calm = await startTestService({}, log, { waits: { ...waits, tailQuietMillis: 500 } });
  const tail = await openTail(calm, { tenant: 'UNFIT', where: 'exists(n)' });
  await expect.poll(() => tail.lastId()).not.toBe('');
  const begun = tail.lastId();
  let stored = 0;
  const storeOne = async () => {
    stored += 1;
    await storeRecords(calm, [record({ tenant: 'UNFIT', event_id: `e${stored}`, enrichment: {} })]);
    return tail.lastId();
  };
  await expect.poll(storeOne, { interval: 50, timeout: 30_000 }).not.toBe(begun);
  tail.close();
  await calm.stop();
});

test('records that were moved to segments meanwhile are told from there, those that were erased are not', async () => {
  const stored = numberedRecords('MOVED', 40, (n) => ({
    event_id: `e${String(n).padStart(2, '0')}`,
    occurred_at: `2001-01-0${1 + Math.floor(n / 10)}T00:00:00Z`,
  }));
  await storeRecords(service, stored.slice(0, 30));
  const begun = await openTail(service, { tenant: 'MOVED', since: past, follow: 'false' });
  await begun.ended;
  const headers = { 'last-event-id': begun.events[4]?.id ?? '' };
  await freeze(service.db, cold, { tenant: 'MOVED', id: 'seg_1', lastDay: '2001-01-02' });
  // Late ones of a day that is cold stay hot.
  const late = record({
    tenant: 'MOVED',
    store: 'S',
    event_id: 'late',
    occurred_at: '2001-01-02T00:00:00Z',
  });
  await storeRecords(service, [late]);
  await storeRecords(service, stored.slice(30));
  await service.db.query(
    sql`delete from enrichment_records where tenant = 'MOVED' and event_id = 'e25'`,
  );
  const rest = await openTail(service, { tenant: 'MOVED', follow: 'false' }, { headers });
  await rest.ended;
  const left = idsOf(stored).filter((id) => id > 'e04' && id !== 'e25');
  expect(rest.seen()).toEqual(left.toSpliced(left.indexOf('e30'), 0, 'late'));
});

test('a part of many stores and days that was moved is told in its order, in however many pages', async () => {
  const stored = numberedRecords('WIDE', 1500, (n) => ({
    store: `S${String(n % 40).padStart(2, '0')}`,
    event_id: `e${n}`,
    occurred_at: `2001-01-0${1 + (n % 7)}T00:00:00.${String(n).padStart(6, '0')}Z`,
  }));
  const others = (name: string) =>
    stored.map((one) => ({ ...one, event_id: `${name}${one.event_id}`, enrichment: { name } }));
  await storeRecords(service, others('before '));
  const begun = await openTail(service, { tenant: 'WIDE', follow: 'false' });
  await begun.ended;
  await storeRecords(service, stored);
  await freeze(service.db, cold, { tenant: 'WIDE', id: 'seg_1', lastDay: '2001-01-05' });
  await storeRecords(service, others('later '));
  const tail = await openTail(service, { tenant: 'WIDE', after: begun.lastId(), follow: 'false' });
  await tail.ended;
  const key = ({ store, occurred_at: at }: { store: string; occurred_at: string }) =>
    `${store} ${at}`;
  const told = stored.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
  expect(tail.seen().slice(0, 1500)).toEqual(idsOf(told));
  expect(tail.seen().slice(1500)).toEqual(idsOf(told).map((id) => `later ${id}`));
});

test('two transactions that commit in another order than they began in lose nothing', async () => {
  await storeRecords(service, numberedRecords('ORDER', 1));
  const tail = await openTail(service, { tenant: 'ORDER' });
  // Holds the first writer of the two between its rows and its commit.
  const holder = await service.db.openSession({ answerMillis: 60_000 });
  await holder.query(sql`begin`);
  await holder.query(
    sql`select 1 from leaf_days where tenant = 'ORDER' and store = 'S' for update`,
  );
  const [early, late] = [
    record({ tenant: 'ORDER', store: 'S', event_id: 'early', occurred_at: '2001-01-01T00:00:00Z' }),
    record({ tenant: 'ORDER', store: 'S2', event_id: 'late', occurred_at: '2001-01-01T00:00:00Z' }),
  ];
  const first = storeRecords(service, [early]);
  await untilLockWaits(service.db);
  await storeRecords(service, [late]);
  await expect.poll(() => tail.seen()).toEqual(['late']);
  await holder.query(sql`commit`);
  await first;
  await holder.close();
  await expect.poll(() => tail.seen()).toEqual(['late', 'early']);
  const times = await service.db.query<{ event_id: string }>(sql`
    select event_id from enrichment_records where tenant = 'ORDER' and event_id in ('early', 'late') order by recorded_at`);
  expect(idsOf(times)).toEqual(['early', 'late']);
  tail.close();
});

test('a clock that was set back loses nothing', async () => {
  await storeRecords(service, numberedRecords('CLOCK', 1));
  await service.db.query(
    sql`update leaf_tenants set stored_at = stored_at + interval '2 hours' where tenant = 'CLOCK'`,
  );
  const tail = await openTail(service, { tenant: 'CLOCK' });
  const added = numberedRecords('CLOCK', 2, (n) => ({ event_id: `back${n}` }));
  for (const one of added) await storeRecords(service, [one]);
  await expect.poll(() => tail.seen()).toEqual(idsOf(added));
  tail.close();
});

test('a part whose microsecond another has is stored at another time', async () => {
  await service.db.pool.query(`
    create sequence refusals;
    create function refuse_first() returns trigger language plpgsql as $$ begin
      if new.tenant = 'TIE' and nextval('refusals') <= 2 then raise unique_violation; end if;
      return new;
    end $$;
    create trigger refuse_first before insert on stored_parts for each row execute function refuse_first()`);
  await storeRecords(service, numberedRecords('TIE', 1));
  await storeRecords(
    service,
    numberedRecords('TIE', 600, (n) => ({ event_id: `more${n}` })),
  );
  const tail = await openTail(service, { tenant: 'TIE', since: past, follow: 'false' });
  await tail.ended;
  expect(new Set(tail.seen()).size).toBe(601);
  expect(tail.seen()).toHaveLength(601);
  await service.db.pool.query('drop function refuse_first cascade');
});

test('a tail that is cut again and again sees what many write at once exactly once', async () => {
  await storeRecords(service, numberedRecords('MANY', 1));
  const seen: string[] = [];
  const now = await openTail(service, { tenant: 'MANY', follow: 'false' });
  await now.ended;
  let after = now.lastId();
  let isOver = false;
  const follow = async () => {
    for (let cuts = 1; !isOver; cuts += 1) {
      const tail = await openTail(service, { tenant: 'MANY', after });
      const most = (cuts * 7) % 40;
      await expect.poll(() => isOver || tail.seen().length > most, { interval: 5 }).toBe(true);
      tail.close();
      await tail.ended;
      seen.push(...tail.seen());
      after = tail.lastId() || after;
    }
  };
  const writers = Array.from({ length: 6 }, async (_, writer) => {
    for (let n = 0; n < 30; n += 1) {
      const name = (i: number) => ({
        event_id: `w${writer}-${n}-${i}`,
        store: `S${(writer + n + i) % 3}`,
      });
      await storeRecords(service, numberedRecords('MANY', 1 + ((writer + n) % 5) ** 3, name));
    }
  });
  const following = follow();
  await Promise.all(writers);
  isOver = true;
  await following;
  const rest = await openTail(service, { tenant: 'MANY', after, follow: 'false' });
  await rest.ended;
  seen.push(...rest.seen());
  const stored = await service.db.query<{ event_id: string }>(
    sql`select event_id from enrichment_records where tenant = 'MANY' and event_id <> 'e0'`,
  );
  expect(seen.toSorted()).toEqual(idsOf(stored).toSorted());
});

test('a reader that does not read is dropped, hears of it later, and goes on without a loss', async () => {
  const stored = numberedRecords('SLOW', 9000, (n) => ({
    event_id: `e${String(n).padStart(4, '0')}`,
    enrichment: { noise: randomBytes(1500).toString('base64') },
  }));
  await storeRecords(service, stored);
  const slow = await openTail(service, { tenant: 'SLOW', since: past });
  slow.pause();
  await expect.poll(() => logged.some((line) => line.reqId === slow.requestId)).toBe(true);
  slow.resume();
  await slow.ended;
  const end = slow.events.at(-1);
  expect(end?.name).toBe('end');
  const { code, after } = JSON.parse(end?.data ?? '');
  expect(code).toBe('tail_slow');
  expect(slow.seen().length).toBeLessThan(9000);
  const rest = await openTail(service, { tenant: 'SLOW', after, follow: 'false' });
  await rest.ended;
  expect([...slow.seen(), ...rest.seen()]).toEqual(idsOf(stored));
});

test('a tail ends within seconds of its token, and says so', async () => {
  const { id, token } = await service.makeToken({ preset: 'support-readonly' });
  const tail = await openTail(service, { tenant: 'LIVE' }, { token });
  expect((await service.call('DELETE', `/tokens/${id}`)).status).toBe(204);
  await tail.ended;
  expect(tail.events.map(({ name, data }) => [name, JSON.parse(data).code])).toEqual([
    ['end', 'token_revoked'],
  ]);
});

test('a stopping service ends its tails, and says so', async () => {
  const stopping = await startTestService();
  await storeRecords(stopping, numberedRecords('LAST', 2));
  const tail = await openTail(stopping, { tenant: 'LAST', since: past });
  await expect.poll(() => tail.seen()).toEqual(['e0', 'e1']);
  await stopping.stop();
  await tail.ended;
  const { code, after } = JSON.parse(tail.events.at(-1)?.data ?? '');
  expect([code, typeof after]).toEqual(['not_ready', 'string']);
});

test('a token has only so many tails at once', async () => {
  const { token } = await service.makeToken({ preset: 'support-readonly' });
  const open = () => openTail(service, { tenant: 'LIVE' }, { token });
  const tails = await Promise.all(Array.from({ length: 16 }, open));
  const refused = await service.call('GET', '/enrichment/records/tail?tenant=LIVE', { token });
  expect([refused.status, refused.json.code]).toEqual([429, 'tails_busy']);
  for (const tail of tails) tail.close();
  await expect
    .poll(async () => {
      const tail = await open();
      tail.close();
      return tail.status;
    })
    .toBe(200);
});

test('a place behind which parts were forgotten is refused, and one after them is not', async () => {
  await storeRecords(service, numberedRecords('OLD', 1));
  await storeRecords(
    service,
    numberedRecords('OLD', 1, () => ({ event_id: 'e1' })),
  );
  await service.db.query(
    sql`update stored_parts set stored_at = stored_at - interval '30 hours' where tenant = 'OLD'`,
  );
  const told = await openTail(service, { tenant: 'OLD', since: past, follow: 'false' });
  expect(told.status).toBe(410);
  await service.db.transaction((connection) => forgetParts(connection));
  const left = await service.db.query(sql`select from stored_parts where tenant = 'OLD'`);
  expect(left).toHaveLength(1);
  expect(
    (await service.call('GET', `/enrichment/records/tail?tenant=OLD&since=${past}`)).json.code,
  ).toBe('tail_place_gone');
  const day = new Date(Date.now() - 29 * 3_600_000).toISOString();
  const later = await openTail(service, { tenant: 'OLD', since: day, follow: 'false' });
  await later.ended;
  expect([later.status, later.seen()]).toEqual([200, []]);
});

test('refuses what makes no sense, and changes nothing', async () => {
  const code = async (query: string, headers = {}) =>
    (await service.call('GET', `/enrichment/records/tail?${query}`, { headers })).json.code;
  expect(await code('store=S')).toBe('request_invalid');
  expect(await code('tenant=LIVE&since=yesterday')).toBe('request_invalid');
  expect(await code('tenant=LIVE&dataset=training')).toBe('request_invalid');
  expect(await code('tenant=LIVE&where=n')).toBe('request_invalid');
  expect(await code('tenant=LIVE&after=abc')).toBe('cursor_invalid');
  expect(await code(`tenant=LIVE&after=abc&since=${past}`)).toBe('request_invalid');
  const tail = await openTail(service, { tenant: 'LIVE', follow: 'false' });
  await tail.ended;
  const headers = { 'last-event-id': tail.lastId() };
  expect(await code('tenant=OTHER', headers)).toBe('cursor_invalid');
  expect(await code('tenant=LIVE&store=S', headers)).toBe('cursor_invalid');
  expect(await code('tenant=LIVE&where=exists(n)', headers)).toBe('cursor_invalid');
});
