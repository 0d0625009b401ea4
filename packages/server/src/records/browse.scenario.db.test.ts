import { beforeAll, expect, test } from 'vitest';
import { useTestService } from '../../test/service.ts';
import { storeRecords } from './ingest/testing/post-records.ts';

const service = useTestService();

type Leaf = {
  tenant: string;
  store: string | null;
  month: string | null;
  count: number;
  bytes: number;
};

const tenants = ['CA', 'TX', 'Ünï', '\u{1F600}'];
const stores = ['A', 'B', 'b', 'Z9'];
const months = ['2001-01', '2001-02', '2002-02'];

beforeAll(async () => {
  const records = tenants.flatMap((tenant, t) =>
    stores.flatMap((store, s) =>
      months.flatMap((month, m) =>
        Array.from({ length: 1 + ((t + s + m) % 3) }, (_, n) => ({
          tenant,
          store,
          event_id: `e${n}`,
          occurred_at: `${month}-${n === 0 ? '28T23:59:59.999999' : '01T00:00:00'}Z`,
          kind: n === 0 ? 'late' : 'early',
          enrichment: {},
        })),
      ),
    ),
  );
  await storeRecords(service, records);
});

const walk = (path: string): Promise<Leaf[]> => service.all(path);

function bytewise(a: Leaf, b: Leaf): number {
  const key = (leaf: Leaf) => Buffer.from([leaf.tenant, leaf.store, leaf.month].join('\0'));
  return Buffer.compare(key(a), key(b));
}

test('lists every leaf once, in byte order, with its facts', async () => {
  const leaves = await walk('/enrichment/datasets?limit=7');
  expect(leaves).toHaveLength(48);
  expect([...leaves].sort(bytewise)).toEqual(leaves);
  const [first] = (
    await service.call('GET', '/enrichment/datasets?tenant=CA&store=A&month=2001-01')
  ).json.data;
  const at = '2001-01-28T23:59:59.999999Z';
  expect(first).toEqual({
    tenant: 'CA',
    store: 'A',
    month: '2001-01',
    count: 1,
    bytes: expect.any(Number),
    coverage: 0,
    covered: 0,
    by_dataset: { training: 0, fine_tuning: 0 },
    tier: 'hot',
    stored_bytes: first.bytes,
    first_at: at,
    last_at: at,
    digest: expect.stringMatching(/^[0-9a-f]{16}$/),
  });
});

test.each([
  ['tenant', '', 4],
  ['tenant', '&month=2001-02', 4],
  ['tenant', '&store=b', 4],
  ['tenant', '&store=b&month=2001-02', 4],
  ['tenant', '&tenant=TX&store=Z9', 1],
  ['tenant', '&q=%C3%9C', 1],
  ['store', '', 16],
  ['store', '&tenant=TX', 4],
  ['store', '&month=2002-02', 16],
  ['store', '&tenant=TX&q=B', 1],
  ['store', '&q=b', 4],
  ['month', '&month=2001-01', 16],
  ['month', '&store=A', 12],
  ['month', '&tenant=TX&q=2001', 8],
  ['month', '&tenant=nobody', 0],
])('level %s with %j sums exactly what its leaves hold', async (level, filter, rowCount) => {
  const rows = await walk(`/enrichment/datasets?level=${level}&limit=3${filter}`);
  expect(rows).toHaveLength(rowCount);
  const leafFilter = filter.replace(/&q=[^&]*/, '');
  const leaves = (await walk(`/enrichment/datasets?limit=500${leafFilter}`)).filter((leaf) =>
    rows.some(
      (row) =>
        row.tenant === leaf.tenant &&
        (row.store ?? leaf.store) === leaf.store &&
        (row.month ?? leaf.month) === leaf.month,
    ),
  );
  const sum = (list: Leaf[], field: 'count' | 'bytes') =>
    list.reduce((all, leaf) => all + leaf[field], 0);
  expect(sum(rows, 'count')).toBe(sum(leaves, 'count'));
  expect(sum(rows, 'bytes')).toBe(sum(leaves, 'bytes'));
  expect(rows.every((row) => (row.store === null) === (level === 'tenant'))).toBe(true);
  expect(rows.every((row) => (row.month === null) === (level !== 'month'))).toBe(true);
});

test('half a character is no prefix to search by', async () => {
  const answer = await service.call('GET', '/enrichment/datasets?level=tenant&q=%F0%9F');
  expect(answer.json).toMatchObject({ status: 400, errors: [{ path: '?q' }] });
});

test('include=days gives one count per day of the month', async () => {
  const path = '/enrichment/datasets?include=days&tenant=CA&store=B&limit=500';
  const days = (await service.call('GET', path)).json.data.map(
    (leaf: { days: number[] }) => leaf.days,
  );
  expect(days.map((counts: number[]) => counts.length)).toEqual([31, 28, 28]);
  expect(days[0][0]).toBe(1);
  expect(days[0][27]).toBe(1);
  expect(days[0].reduce((a: number, b: number) => a + b)).toBe(2);
});

test('include=months names the months of each store', async () => {
  const event = { event_id: 'e', occurred_at: '2001-02-03T00:00:00Z', enrichment: {} };
  await storeRecords(service, [{ tenant: 'NY', store: 'A', ...event }]);
  const walked = await walk('/enrichment/datasets?limit=500');
  const path = '/enrichment/datasets?level=store&include=months&limit=3';
  const rows = (await walk(path)) as (Leaf & { months: string[] })[];
  expect(rows.map(({ tenant, store, months: own }) => [tenant, store, own])).toEqual(
    rows.map((row) => {
      const own = walked.filter((leaf) => leaf.tenant === row.tenant && leaf.store === row.store);
      return [row.tenant, row.store, own.map(({ month }) => month)];
    }),
  );
  expect(rows.find(({ tenant }) => tenant === 'NY')?.months).toEqual(['2001-02']);
});

test.each([
  ['datasets?limit=0', '?limit'],
  ['datasets?limit=501', '?limit'],
  ['datasets?limit=abc', '?limit'],
  ['datasets?limit=1.5', '?limit'],
  ['datasets?limit=%201', '?limit'],
  ['datasets?month=2026-13', '?month'],
  ['datasets?month=2026-1', '?month'],
  ['datasets?level=day', '?level'],
  ['datasets?tenent=TX', '?tenent'],
  ['datasets?tenant=TX&tenant=CA', '?tenant'],
  ['datasets?tenant=', '?tenant'],
  ['datasets?tenant=a%00b', '?tenant'],
  ['datasets?include=days&level=store', '?include'],
  ['datasets?include=months&level=month', '?include'],
  ['records?limit=501', '?limit'],
  ['records?order=up', '?order'],
  ['records?from=2001-01-02&to=2001-01-01', '?from'],
  ['records?from=2001-01-02', '?to'],
  ['records?to=2001-01-02', '?from'],
  ['records?from=2001-02-30&to=2001-03-01', '?from'],
  ['records?month=2001-01&from=2001-01-01&to=2001-01-02', '?month'],
  ['records?dataset=tests', '?dataset'],
  ['records?where=n%20%3E', '?where'],
  ['datasets?where=n%20%3E%205', '?where'],
  ['facts?tenant=TX&where=n%20%3E', '?where'],
  ['records?dataset=training', '?dataset'],
  ['facts', '?tenant'],
  ['facts?tenant=TX&to=2001-01-01', '?from'],
  ['records/one?tenant=TX&store=A&event_id=e0', '?occurred_at'],
  ['records/one?tenant=TX&store=A&event_id=e0&occurred_at=noon', '?occurred_at'],
])('answers 400 to %s and names %s', async (path, place) => {
  const answer = await service.call('GET', `/enrichment/${path}`);
  expect(answer.status).toBe(400);
  expect(answer.json.code).toBe('request_invalid');
  expect(answer.json.errors.map((fault: { path: string }) => fault.path)).toContain(place);
});

test('a cursor goes with its own filters only, and limit and token may change', async () => {
  const path = '/enrichment/records?tenant=TX&store=B&limit=2';
  const { next_cursor: cursor } = (await service.call('GET', path)).json;
  const { token } = await service.makeToken({ preset: 'curator' });
  const ok = await service.call('GET', `${path.replace('limit=2', 'limit=9')}&cursor=${cursor}`, {
    token,
  });
  expect(ok.status).toBe(200);
  for (const other of [
    `records?tenant=TX&limit=2&cursor=${cursor}`,
    `records?tenant=TX&store=B&kind=late&cursor=${cursor}`,
    `records?tenant=TX&store=B&where=n%3E0&cursor=${cursor}`,
    `records?tenant=TX&store=B&order=desc&cursor=${cursor}`,
    `records?tenant=CA&store=B&cursor=${cursor}`,
    `datasets?tenant=TX&store=B&cursor=${cursor}`,
    `records?tenant=TX&store=B&cursor=${cursor}A`,
    `records?tenant=TX&store=B&cursor=${cursor.slice(0, -1)}`,
    `records?tenant=TX&store=B&cursor=x`,
  ]) {
    const answer = await service.call('GET', `/enrichment/${other}`);
    expect(answer.json, other).toMatchObject({ status: 400, code: 'cursor_invalid' });
  }
});

test('NEXT and PREV lead over the same pages, and the first has no way back', async () => {
  const path = '/enrichment/records?limit=10';
  const pages = [(await service.call('GET', path)).json];
  while (pages.at(-1).next_cursor !== null) {
    pages.push((await service.call('GET', `${path}&cursor=${pages.at(-1).next_cursor}`)).json);
  }
  expect(pages[0].prev_cursor).toBeNull();
  expect(pages.length).toBeGreaterThan(5);
  for (let at = pages.length - 1; at > 0; at--) {
    const back = (await service.call('GET', `${path}&cursor=${pages[at].prev_cursor}`)).json;
    expect(back.data).toEqual(pages[at - 1].data);
    expect(back.prev_cursor === null).toBe(at === 1);
    expect(back.next_cursor).not.toBeNull();
  }
});
