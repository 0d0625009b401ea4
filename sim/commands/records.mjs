import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { compareKeys, rowsOfPage } from '../rows.mjs';
import { among, batch, contentsOf, day, events, slice, store, tenant, timeOf } from '../values.mjs';
import { call, outcomeOf } from '../world.mjs';

/** Through which of the processes that serve the API a call goes. */
export const via = fc.nat(3);
/** How an NDJSON stream is sent: whole, zipped, in pieces with a pause between, or broken off by its client. */
const sendings = ['whole', 'gzip', 'slow', 'hang-up'];

/** A page that names an event has no order by time. */
const keyOrder = fc.constantFrom('asc', 'desc');
const anyOrder = fc.constantFrom('asc', 'desc', 'oldest', 'newest');

/** So many new months one command begins, one after the other. */
const monthsAtOnce = 10;

export const recordCommands = [
  {
    name: 'ingest a batch',
    weight: 10,
    draw: fc.record({ via, contents: batch }),
    play: (world, { via: at, contents }) => ingestBatch(world, contents, at),
  },
  {
    name: 'ingest a stream',
    weight: 5,
    draw: fc.record({ via, contents: batch, sending: fc.constantFrom(...sendings) }),
    play: (world, { via: at, contents, sending }) =>
      ingestLines(world, contents, { via: at, sending }),
  },
  {
    // The model is told nothing of it, so a record that were stored would be one that nobody sent.
    name: 'try a batch without storing it',
    weight: 2,
    draw: fc.record({ via, contents: batch, faulty: fc.constantFrom(0, 0, 1, 3) }),
    async play(world, { via: at, contents, faulty }) {
      const asked = '/enrichment/records?dry_run=true';
      const records = [...contents.map((content) => content.text()), ...Array(faulty).fill('{}')];
      const options = { via: at, body: `{"records":[${records.join()}]}` };
      const answer = await ask(world, 'dry run', [200], 'POST', asked, options);
      if (answer === undefined) return;
      const { accepted, duplicates, rejected, rejected_count: count, by_code: codes } = answer.json;
      if (accepted + duplicates + count !== records.length)
        world.say(`a dry run of ${records.length} was answered ${answer.text.slice(0, 500)}`);
      for (const { code, message, index } of rejected)
        if ((code === 'conflict') !== index < contents.length)
          world.say(`a dry run said of record ${index} of ${contents.length}: ${code} ${message}`);
      // Each has an integer that a double changes.
      const unsafe = codes.find(({ code }) => code === 'integer_unsafe')?.count ?? 0;
      if (unsafe !== accepted + duplicates) world.say(`a dry run warned of ${unsafe} records`);
    },
  },
  {
    name: 'ingest many small records of a day',
    weight: 1,
    draw: fc.record({
      ...{ via, tenant, store, day },
      // Around the size of a row group, whose multiples DuckDB may cut anew.
      count: fc.constantFrom(
        ...[...Array(5).fill(3000), ...Array(3).fill(10_001), 70_000, 70_000, 123_000],
      ),
      series: fc.nat(2),
    }),
    async play(world, { via: at, count, series, ...where }) {
      const made = (n) => ({ ...where, time: timeOf(n), event: `b${series}-${n}` });
      await ingestLines(world, await contentsOf(count, made), { via: at, sending: 'whole' });
    },
  },
  {
    name: 'ingest into very many stores',
    weight: 1,
    draw: fc.record({
      ...{ via, tenant, day },
      count: fc.constantFrom(...Array(16).fill(300), 2000, 2000, 2000, 20_000),
      series: fc.nat(2),
    }),
    async play(world, { via: at, count, series, ...where }) {
      const event = `m${series}`;
      const made = (n) => ({ ...where, store: `many-${n}`, time: timeOf(n), event });
      await ingestLines(world, await contentsOf(count, made), { via: at, sending: 'whole' });
    },
  },
  {
    name: 'ingest into new months through all processes at once',
    weight: 2,
    draw: fc.record({ tenant, first: fc.nat(20) }),
    async play(world, { tenant: own, first }) {
      const one = async (month, at) => {
        const day = new Date(Date.UTC(1980, first * monthsAtOnce + month, 5)).toISOString();
        const where = { tenant: own, store: 'S1', day: day.slice(0, 10), time: timeOf(at) };
        await ingestBatch(world, await contentsOf(1, () => ({ ...where, event: `p${at}` })), at);
      };
      for (let month = 0; month < monthsAtOnce; month += 1)
        await Promise.all([0, 1, 2, 3].map((at) => one(month, at)));
    },
  },
  {
    name: 'read a page',
    weight: 6,
    draw: fc.record({ via, slice, limit: fc.constantFrom(1, 7, 100, 500), order: anyOrder }),
    async play(world, { via: at, slice: filter, limit, order }) {
      const query = `${queryOf(filter)}&limit=${limit}&order=${order}`;
      const read = world.records.beginRead(filter);
      const asked = `/enrichment/records?${query}`;
      const answer = await ask(world, 'page', [200], 'GET', asked, { via: at });
      if (answer === undefined) return;
      const rows = rowsOfPage(answer.text);
      world.faults.push(...world.records.endRead(read, rows, { isPartial: true }));
      world.faults.push(...faultsOfOrder(rows, order));
    },
  },
  {
    name: 'walk through all pages',
    weight: 3,
    draw: fc.record({ via, slice, limit: fc.constantFrom(100, 500), order: anyOrder }),
    play: (world, { via: at, slice: filter, limit, order }) =>
      walkPages(world, at, { slice: filter, limit, order }),
  },
  {
    name: 'find an event',
    weight: 3,
    draw: fc.record({ via, slice, event: fc.nat(40), isOfAll: fc.boolean(), order: keyOrder }),
    play(world, { via: at, slice: filter, event, isOfAll, order }) {
      const within = isOfAll ? {} : filter;
      const id = `e${event}`;
      const query = queryOf({ ...within, event_id: id });
      const meant = { ...within, ids: new Set([id]) };
      return walkPages(world, at, { slice: meant, query, limit: 100, order });
    },
  },
  {
    name: 'find an event by what is in it',
    weight: 1,
    draw: fc.record({ via, slice, event: fc.nat(40), order: anyOrder }),
    play(world, { via: at, slice: filter, event, order }) {
      const { meant, asked } = among([event]);
      const query = queryOf({ ...filter, ...asked });
      return walkPages(world, at, { slice: { ...filter, ...meant }, query, limit: 100, order });
    },
  },
  {
    name: 'count records',
    weight: 1,
    draw: fc.record({ via, slice, events }),
    async play(world, { via: at, slice: filter, events: some }) {
      const { meant, asked } = among(some);
      const read = world.records.beginRead({ ...filter, ...meant });
      let [count, cursor] = [0, ''];
      do {
        const path = `/enrichment/records/count?${queryOf({ ...filter, ...asked })}${cursor}`;
        const answer = await ask(world, 'count', [200], 'GET', path, { via: at });
        if (answer === undefined) return;
        count += answer.json.count;
        cursor = cursorOf(answer);
      } while (cursor !== '');
      world.faults.push(...world.records.endCount(read, { count }));
    },
  },
  {
    name: 'read the tree',
    weight: 6,
    draw: fc.record({ via, tenant, level: fc.constantFrom('tenant', 'store', 'month') }),
    play: (world, { via: at, tenant: own, level }) => readTree(world, at, own, level),
  },
  {
    name: 'read the fields',
    weight: 2,
    draw: fc.record({ via, slice, against: fc.constantFrom(undefined, 'all', 'training') }),
    async play(world, { via: at, slice: filter, against }) {
      const query = queryOf({ ...filter, ...(against && { against }) });
      const read = world.records.beginRead(filter);
      const answer = await ask(world, 'fields', [200], 'GET', `/enrichment/fields?${query}`, {
        via: at,
      });
      if (answer === undefined) return;
      const { count, sampled, unread, is_exact: isExact, fields } = answer.json;
      world.faults.push(...world.records.endCount(read, { count }));
      const looked = sampled + unread;
      if (isExact !== (sampled === count)) world.faults.push(`${query}: exact, or not?`);
      if (count <= 100 && looked !== count) {
        world.faults.push(`${query}: looked at ${looked} of ${count} records`);
      }
      for (const { name, present, nulls, missing } of fields) {
        const sum = present.share + nulls.share + missing.share;
        if (sampled > 0 && Math.abs(sum - 1) > 1e-5) world.faults.push(`${name}: ${sum} of all`);
      }
    },
  },
  {
    name: 'tag days',
    weight: 2,
    draw: fc.record({ via, slice, dataset: fc.constantFrom('training', 'fine_tuning') }),
    play: (world, { via: at, slice: filter, dataset }) => addTag(world, at, { ...filter, dataset }),
  },
  {
    name: 'tag very many windows',
    weight: 1,
    draw: fc.record({ via, tenant, count: fc.constantFrom(10, 10, 10, 100, 700) }),
    async play(world, { via: at, tenant: own, count }) {
      for (let n = 0; n < count; n += 1) {
        const from = `20${String(n % 90).padStart(2, '0')}-01-${String(1 + (n % 28)).padStart(2, '0')}`;
        const store = `many-${n}`;
        const tag = { tenant: own, store, from, to: '2099-12-31', dataset: 'training' };
        await addTag(world, at, tag);
      }
    },
  },
  {
    name: 'remove a tag',
    weight: 1,
    draw: fc.record({ via, at: fc.nat(100) }),
    async play(world, { via: through, at }) {
      const ids = [...world.tags.tags.keys()];
      if (ids.length === 0) return;
      const id = ids[at % ids.length];
      const tag = world.tags.tags.get(id);
      world.tags.tags.delete(id);
      const answer = await call(world, 'DELETE', `/enrichment/tags/${id}`, { via: through });
      const outcome = outcomeOf(answer);
      if (outcome === 'lost') world.tags.unknown.push(tag);
      else if (outcome === 'refused' && answer.status !== 404) world.tags.tags.set(id, tag);
    },
  },
];

async function addTag(world, via, tag) {
  const answer = await call(world, 'POST', '/enrichment/tags', { body: tag, via });
  if (answer.status === 201) world.tags.tags.set(answer.json.id, tag);
  else if (outcomeOf(answer) === 'lost') world.tags.unknown.push(tag);
  else isAnswer(world, answer, 'tag', [409]);
}

/** Reads all pages of a slice; each record that was there all the time must be seen once. */
export async function walkPages(
  world,
  via,
  { slice: filter, query: named = queryOf(filter), limit, order },
) {
  const read = world.records.beginRead(filter);
  const rows = [];
  let cursor = '';
  do {
    const query = `${named}&limit=${limit}&order=${order}${cursor}`;
    let answer = await call(world, 'GET', `/enrichment/records?${query}`, { via });
    // A page that failed is asked for again, as the console does.
    for (let again = 0; again < 40 && answer.status !== 200; again += 1) {
      if (!isAnswer(world, answer, 'page of a walk', [])) return;
      await delay(250);
      answer = await call(world, 'GET', `/enrichment/records?${query}`, { via });
    }
    if (answer.status !== 200) return;
    rows.push(...rowsOfPage(answer.text));
    cursor = cursorOf(answer);
  } while (cursor !== '');
  world.faults.push(...world.records.endRead(read, rows), ...faultsOfOrder(rows, order));
}

/** Reads the rows of a tenant at a level; each must be what its records sum up to. */
export async function readTree(world, via, own, level) {
  const read = world.records.beginRead({ tenant: own });
  const from = performance.now();
  const rows = [];
  let cursor = '';
  do {
    const path = `/enrichment/datasets?tenant=${encodeURIComponent(own)}&level=${level}&limit=500${cursor}`;
    const answer = await ask(world, 'tree', [200], 'GET', path, { via });
    if (answer === undefined) return;
    rows.push(...answer.json.data);
    cursor = cursorOf(answer);
  } while (cursor !== '');
  world.faults.push(...world.records.endTree(read, rows));
  const shown = rows.reduce((sum, { count }) => sum + count, 0);
  world.faults.push(...world.records.endCount(read, { count: shown }));
  // A tenant's own row is read at one moment, and grows until something is erased.
  const epoch = world.records.epochOf(read);
  if (level !== 'tenant' || epoch === null) return;
  const key = `count of ${own} since erasure ${epoch}`;
  world.observed.push({ key, from, to: performance.now(), value: shown, what: String(shown) });
}

/** What is added to the query for the next page; nothing where there is none. */
export const cursorOf = ({ json: { next_cursor: next } }) =>
  next === null ? '' : `&cursor=${encodeURIComponent(next)}`;

/** Sends records in one JSON body, and tells the model what became of them. */
async function ingestBatch(world, contents, via) {
  const write = world.records.beginWrite(contents);
  const options = { body: bodyOf(contents), via };
  endIngest(world, write, await call(world, 'POST', '/enrichment/records', options));
}

/** @param {readonly any[]} contents */
const bodyOf = (contents) => `{"records":[${contents.map((content) => content.text()).join()}]}`;

/** Sends records as lines of NDJSON, and tells the model what became of them. */
async function ingestLines(world, contents, how) {
  const write = world.records.beginWrite(contents);
  endIngest(world, write, await sendLines(world, contents, how));
}

/** Sends records as lines of NDJSON. */
async function sendLines(world, contents, { via, sending }) {
  const pieces = [];
  for (const [n, content] of contents.entries()) {
    pieces.push(`${content.text()}\n`);
    if (n % 5000 === 4999) await delay(1);
  }
  const bytes = Buffer.from(pieces.join(''));
  const headers = { 'content-type': 'application/x-ndjson' };
  const path = '/enrichment/records';
  if (sending === 'gzip') {
    const zipped = { ...headers, 'content-encoding': 'gzip' };
    return call(world, 'POST', path, { body: gzipSync(bytes), via, headers: zipped });
  }
  if (sending === 'whole') return call(world, 'POST', path, { body: bytes, via, headers });
  const onRequest = (sent) => {
    const half = Math.ceil(bytes.length / 2);
    sent.write(bytes.subarray(0, half));
    setTimeout(() => {
      if (sending === 'hang-up') sent.destroy(new Error('hung up'));
      else sent.end(bytes.subarray(half));
    }, 300);
  };
  return call(world, 'POST', path, { via, headers, onRequest });
}

/** Tells the model what an ingest was answered; the first `passed` of its records were answered before. */
export function endIngest(world, write, answer, passed = 0) {
  const { contents } = write;
  if (answer.status !== 200) {
    const outcome = outcomeOf(answer) === 'refused' ? 'refused' : 'lost';
    const outcomes = contents.map(() => outcome);
    world.faults.push(...world.records.endWrite(write, outcomes));
    // One that its client broke off has no answer.
    if (answer.error?.message !== 'hung up') isAnswer(world, answer, 'ingest', []);
    return;
  }
  const { accepted, duplicates, rejected, rejected_count: rejectedCount } = answer.json;
  if (passed + accepted + duplicates + rejectedCount !== contents.length) {
    world.say(
      `ingest of ${contents.length} was answered ${accepted} + ${duplicates} + ${rejectedCount}`,
    );
  }
  // The first thousand are named. Of more nobody knows which.
  const codes = new Map(rejected.map(({ index, code }) => [index, code]));
  for (const { code, message } of rejected) {
    if (code !== 'conflict') world.say(`a sound record was rejected: ${code} ${message}`);
  }
  const isTold = rejectedCount === rejected.length;
  const outcomes = contents.map((_, at) =>
    at < passed ? 'present' : codes.has(at) ? 'conflict' : isTold ? 'stored' : 'lost',
  );
  world.faults.push(...world.records.endWrite(write, outcomes));
}

/**
 * Makes a call, whose answer must have one of these statuses; answers it where it has.
 *
 * @param {any} world
 * @param {string} what
 * @param {number[]} statuses
 * @param {[method: string, path: string, options?: object]} asked
 */
export async function ask(world, what, statuses, ...asked) {
  const answer = await call(world, ...asked);
  return isAnswer(world, answer, what, statuses) ? answer : undefined;
}

/**
 * Whether an answer is one of these. What faults explain is not held against it: 408, 429, 503, and no answer at all.
 */
export function isAnswer(world, answer, what, statuses) {
  if (statuses.includes(answer.status)) return true;
  if (answer.status === 500) return false;
  if ([0, 408, 429, 503].includes(answer.status)) {
    if (world.isCalm() && !answer.wasKilled)
      world.say(
        `${what}: ${answer.status} ${answer.error?.message ?? answer.text.slice(0, 200)} in calm`,
      );
    return statuses.length === 0;
  }
  world.say(`${what}: ${answer.status} ${answer.text.slice(0, 300)}`);
  return false;
}

export function queryOf(filter) {
  return new URLSearchParams(filter).toString();
}

function faultsOfOrder(rows, order) {
  const isByTime = order === 'oldest' || order === 'newest';
  const isDescending = order === 'desc' || order === 'newest';
  const keys = rows.map(({ key }) => (isByTime ? byTime(key) : key));
  const isBehind = (key, at) => at === 0 || compareKeys(keys[at - 1], key) < 0 !== isDescending;
  return keys.every(isBehind) ? [] : ['records came out of order'];
}

/** The key of a record in the order of time: of its tenant, when it was, and then where. */
function byTime(key) {
  const [own, ownStore, occurredAt, eventId] = JSON.parse(key);
  return JSON.stringify([own, occurredAt, ownStore, eventId]);
}
