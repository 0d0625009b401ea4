import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { withRestored } from './commands/backups.mjs';
import { settleJobs, streamExport } from './commands/exports.mjs';
import { judgeNames, judgePeople } from './commands/people.mjs';
import { fetchAll } from './commands/polls.mjs';
import { readTree, walkPages } from './commands/records.mjs';
import { judgeFates, settleReplays } from './commands/replays.mjs';
import { tablePath } from './commands/retention.mjs';
import { judgeSchedules } from './commands/schedules.mjs';
import { judgeTails } from './commands/tails.mjs';
import { judgeBundles } from './commands/versions.mjs';
import { report } from './commands/webhooks.mjs';
import { findKeyDisorder } from './key-order.mjs';
import { findDisorder } from './order.mjs';
import { wants } from './webhook-model.mjs';
import { call, until } from './world.mjs';

/** A tenant with more records is not read page by page at rest: its export is. */
const walkedAtMost = 3000;

/**
 * What must hold whenever all is at rest: nothing is broken, no call is under way, and what was asked for has ended.
 * Each answers nothing, and tells the world what is wrong.
 */
export const invariants = [
  { name: 'each record that was acknowledged is there once, as it was sent', check: readAll },
  { name: 'a tail that is cut and resumed tells each record once', check: judgeTails },
  { name: 'schedules deliver each record once, as it was sent', check: judgeSchedules },
  { name: 'bundles have the records that were frozen', check: judgeBundles },
  { name: 'the counters of all levels are the sums of the rows', check: checkCounters },
  { name: 'tags cover what they should', check: checkCoverage },
  { name: 'cold data is whole, and no object is left', check: verifyCold },
  { name: 'the table for other engines names the live segments', check: readTable },
  { name: 'each minute of the schedule has its run', check: checkSchedule },
  { name: 'deliveries were made or wait, each as it was reported', check: judgeDeliveries },
  { name: 'each incident has one fate at each endpoint', check: judgeFates },
  { name: 'what is ordered came in order', check: judgeKeys },
  { name: 'the dead-letter queue and the hours are counted right', check: checkWebhookCounters },
  { name: 'what one client saw, no later one sees undone', check: checkOrder },
  { name: 'nobody has rights that their groups do not give', check: judgePeople },
  { name: 'the audit log names people for what they did', check: judgeNames },
  { name: 'the audit log is whole', check: verifyAudit },
  { name: 'a backup holds what was there at its moment', check: restoreBackup },
  { name: 'nothing of what was erased is left', check: findErased },
  { name: 'no process has met an error of its own', check: readLogs },
];

/** Waits until all is at rest, and checks all of it. `time` notes what each check takes. */
export async function checkAtRest(world, { time }) {
  await time('rest: all that was begun ends', () => settle(world));
  for (const { name, check } of invariants) {
    const looking = time(`rest: ${name}`, () => check(world));
    await looking.catch((error) => world.say(`${name}: ${error.message}`));
  }
}

async function settle(world) {
  await until('all processes to answer', async () => {
    const answers = await Promise.all(
      world.processes.map(({ url }) =>
        fetch(`${url}/readyz`).then(
          ({ status }) => status,
          () => 0,
        ),
      ),
    );
    return answers.every((status) => status === 200);
  });
  await settleJobs(world);
  // A move that broke off is made by the next run; erasures go on by themselves.
  await until(
    'what was begun to end',
    async () => {
      const [{ open }] = await world.rows(
        `select count(*)::int as open from moves where state not in ('removed', 'failed', 'switched')`,
      );
      if (open > 0) await finishRun(world);
      return open === 0;
    },
    90_000,
  ).catch((error) => world.say(error.message));
  await until('the database to be idle', async () => {
    const rows = await world.rows(
      `select pid from pg_stat_activity where datname = current_database() and state <> 'idle' and pid <> pg_backend_pid()
       and application_name like 'svcctl%'`,
    );
    return rows.length === 0;
  });
  world.records.rest();
}

/** A run that ends what others have begun, and moves nothing by itself. */
const nothingNew = { before: '1970-01-01' };

async function finishRun(world) {
  const { status, json } = await call(world, 'POST', '/retention/run', { body: nothingNew });
  if (status !== 202) return delay(200);
  await until(
    'a run to end',
    async () => {
      const answer = await call(world, 'GET', `/retention/runs/${json.id}`);
      return answer.json?.finished_at;
    },
    90_000,
  );
}

async function readAll(world) {
  for (const tenant of world.records.tenants()) {
    const formats = ['ndjson', 'csv', 'parquet'];
    await Promise.all(formats.map((format, at) => streamExport(world, at, { tenant }, format)));
    if (world.records.stored({ tenant }).length <= walkedAtMost) {
      await walkPages(world, 0, { slice: { tenant }, limit: 500, order: 'asc' });
    }
    for (const level of ['tenant', 'store', 'month']) await readTree(world, 1, tenant, level);
  }
}

const levels = {
  leaf_months: 'tenant, store, month',
  leaf_stores: 'tenant, store',
  tenant_days: 'tenant, day',
  tenant_months: 'tenant, month',
  leaf_tenants: 'tenant',
};

/** Hot rows against the counters of their days, and those of days against all that sum them up. */
async function checkCounters(world) {
  const hot = await world.rows(`
    with counted as (
      select tenant, store, (occurred_at at time zone 'UTC')::date as day, count(*) as count, sum(bytes)::bigint as bytes,
        mod(sum(digest::numeric) + 18446744073709551616 * count(*), 18446744073709551616) as digest
      from enrichment_records group by 1, 2, 3
    ), kept as (
      select tenant, store, day, count - cold_count as count, bytes - cold_bytes as bytes,
        mod(digest - cold_digest + 18446744073709551616, 18446744073709551616) as digest
      from leaf_days where count > cold_count
    )
    (select 'rows' as side, * from (table counted except table kept) as missing)
    union all (select 'counters', * from (table kept except table counted) as wrong) limit 3`);
  for (const row of hot) world.say(`hot rows and counters differ: ${JSON.stringify(row)}`);
  for (const [table, key] of Object.entries(levels)) {
    const month = key.includes('month') ? `to_char(day, 'YYYY-MM') as month` : '';
    const columns = key.replace('month', month || 'month');
    const wrong = await world.rows(`
      with added as (
        select ${columns}, sum(count)::bigint as count, sum(bytes)::bigint as bytes,
          mod(sum(digest), 18446744073709551616) as digest
        from leaf_days group by ${key} having sum(count) > 0
      ), kept as (select ${key}, count, bytes, digest from ${table} where count > 0)
      (select 'added' as side, * from (table added except table kept) as missing)
      union all (select 'kept', * from (table kept except table added) as wrong) limit 3`);
    for (const row of wrong) world.say(`${table} differs: ${JSON.stringify(row)}`);
  }
}

async function checkCoverage(world) {
  if (world.tags.unknown.length > 0) return;
  for (const tenant of world.records.tenants()) {
    const stored = world.records.stored({ tenant });
    if (world.records.exactSum(world.records.beginRead({ tenant })) === null) continue;
    const { json } = await call(
      world,
      'GET',
      `/enrichment/datasets?level=tenant&tenant=${encodeURIComponent(tenant)}`,
    );
    const row = json.data.find((each) => each.tenant === tenant);
    const found = row === undefined ? [0, 0] : [row.covered, row.by_dataset.training];
    const expected = [world.tags.covered(stored), world.tags.covered(stored, 'training')];
    if (found.join() !== expected.join())
      world.say(`tags of ${tenant} cover ${found.join()}, not ${expected.join()}`);
  }
}

async function verifyCold(world) {
  const { json } = await call(world, 'POST', '/retention/verify', { body: {} });
  world.pending.push({ what: `verification ${json.id}`, kind: 'verify', id: json.id });
  await settleJobs(world);
  // What fell due seconds ago is removed by now.
  await until(
    'objects to be removed',
    async () => {
      const [{ late }] = await world.rows(
        `select count(*)::int as late from object_removals where remove_after < now()`,
      );
      return late === 0;
    },
    30_000,
  ).catch((error) => world.say(error.message));
  const known = new Set(
    (
      await world.rows(`
    select object_key from segments union select object_key from object_removals
    union select object_key from move_segments where object_key is not null`)
    ).map((row) => row.object_key),
  );
  for (const key of await world.store.objects()) {
    if (!known.has(key)) world.say(`the object ${key} belongs to nothing`);
  }
}

/** Its snapshot against the catalogue, and where its files can be read, the names in its manifests. */
async function readTable(world) {
  const list = () =>
    world.rows('select object_key, count::int as count from segments order by object_key');
  const segments = await list();
  const { json, text } = await call(world, 'GET', tablePath);
  if (JSON.stringify(await list()) !== JSON.stringify(segments)) return;
  const { summary, 'manifest-list': path } = json.metadata.snapshots.at(-1);
  const records = segments.reduce((sum, { count }) => sum + count, 0);
  const told = [Number(summary['total-data-files']), Number(summary['total-records'])];
  if (told.join() !== [segments.length, records].join())
    world.say(`${segments.length} segments with ${records} records, but ${text.slice(0, 500)}`);
  if (!path.startsWith('file://')) return;
  // Avro without compression shows the names as they are.
  const namesIn = (file, pattern) =>
    readFileSync(file.slice('file://'.length), 'latin1').match(pattern) ?? [];
  const manifests = namesIn(path, /file:[^\0]*?-m\d+\.avro/g);
  const named = manifests.flatMap((file) => namesIn(file, /records\/tenant=[^\0]*?\.parquet/g));
  for (const { object_key: key } of segments)
    if (named.filter((name) => name === key).length !== 1)
      world.say(`the table does not name ${key} once`);
}

/** Nobody was away for as long as a minute, so none may be passed over. */
async function checkSchedule(world) {
  if (world.settings.SVC_RETENTION_SCHEDULE === 'off') return;
  const rows = await world.rows(
    `select (extract(epoch from scheduled_for) / 60)::int as minute from retention_runs where scheduled_for is not null`,
  );
  const made = new Set(rows.map(({ minute }) => minute));
  const patienceMillis = 10_000;
  const last = Math.floor((Date.now() - patienceMillis) / 60_000);
  for (let minute = Math.ceil(world.startedAt / 60_000); minute <= last; minute += 1) {
    const time = new Date(minute * 60_000).toISOString();
    if (!made.has(minute)) world.say(`there was no run for ${time}`);
  }
}

async function judgeDeliveries(world) {
  const { webhooks, receiver } = world;
  // A report that was lost is made again under its key, as its caller would.
  for (const incident of webhooks.incidents.values())
    if (incident.answer === undefined) await report(world, 0, incident);
  await settleReplays(world);
  await fetchAll(world);
  const rows =
    await world.rows(`select d.id, d.idempotency_key, d.status, d.endpoint_id, d.incident_id, d.attempts,
    (select count(*)::int from delivery_attempts a where a.lane = d.lane and a.delivery_id = d.id) as noted
    from deliveries d`);
  const byKey = new Map(rows.map((row) => [row.idempotency_key, row]));
  const byId = new Map(rows.map((row) => [row.id, row]));
  for (const delivery of webhooks.deliveries.values()) {
    const row = byId.get(delivery.id);
    delivery.isDelivered = row?.status === 'delivered';
    world.faults.push(
      ...webhooks.judge(delivery, row?.status, receiver.seen.get(delivery.webhookId)),
    );
  }
  for (const { idempotency_key: key, status, attempts, noted } of rows) {
    // An attempt of a delivery that is discarded meanwhile is noted, and no longer counted.
    if (attempts === noted || status === 'discarded') continue;
    world.say(`${key} is ${status} after ${attempts} attempts, and ${noted} are noted`);
  }
  const incidents = new Map([...webhooks.incidents.values()].map((one) => [one.answer?.id, one]));
  for (const { id, endpoint_id: endpointId, incident_id: incidentId } of rows) {
    const [endpoint, incident] = [webhooks.endpoints.get(endpointId), incidents.get(incidentId)];
    if (endpoint === undefined || incident === undefined) continue;
    if (![endpoint.wanted, ...endpoint.past].some((each) => wants(endpoint, incident, each)))
      world.say(`delivery ${id} is of what ${endpointId} has never wanted`);
  }
  for (const [webhookId, seen] of receiver.seen) {
    if (!byKey.has(webhookId)) world.say(`${webhookId} came to ${seen.path}, and is no delivery`);
    world.faults.push(...seen.faults.splice(0));
    judgeRepeats(world, webhookId, seen);
  }
}

/** What each ordered endpoint got of each of its keys, and whether a key waits for one that has ended. */
async function judgeKeys({ rows, say, faults, webhooks, receiver }) {
  const byKey = new Map();
  for (const {
    webhookId,
    endpointId,
    incident,
    isDelivered,
    retries,
  } of webhooks.deliveries.values()) {
    const endpoint = webhooks.endpoints.get(endpointId);
    const seen = receiver.seen.get(webhookId);
    const key = incident[endpoint?.ordered];
    if (key === undefined || seen === undefined) continue;
    const name = `${webhookId}, for ${endpointId} of ${key}`;
    const { startedAt: reportedAt, answer } = incident;
    const isFree = !isDelivered || retries > 0;
    const arrival = { ...seen, name, reportedAt, acceptedAt: answer.at, isFree };
    const own = `${endpointId} ${key}`;
    byKey.set(own, [...(byKey.get(own) ?? []), arrival]);
  }
  for (const arrivals of byKey.values()) faults.push(...findKeyDisorder(arrivals));
  let stuck = [];
  await until(
    'ordered keys to go on',
    async () => {
      stuck = await rows(`
        select d.id, d.order_key, h.status from order_keys k
        join deliveries d on d.endpoint_id = k.endpoint_id and d.order_key = k.key and d.order_state in ('waits', 'joins')
          and d.status = 'queued'
        left join deliveries h on h.id = k.head
        where h.id is null or h.status in ('delivered', 'discarded')`);
      return stuck.length === 0;
    },
    30_000,
  ).catch(() => say(`what waits in order is never sent: ${JSON.stringify(stuck.slice(0, 3))}`));
}

/** A delivery comes twice only if something was broken in between, or somebody retried it. */
function judgeRepeats(world, webhookId, { times, accepted }) {
  const delivery = world.webhooks.deliveries.get(webhookId);
  if (accepted < 2 || delivery === undefined || delivery.retries > 0) return;
  const excused = world.repeatSpans.some(([from, to]) => from < times[1] && to > times[0] - 20_000);
  if (!excused) world.say(`${webhookId} was delivered ${accepted} times, and nothing explains it`);
}

async function checkWebhookCounters(world) {
  const dead = await world.rows(`
    with counted as (
      select endpoint_id, status, failure_class, count(*) as count from deliveries
      where status in ('pending', 'abandoned') group by 1, 2, 3
    ), kept as (select endpoint_id, status, failure_class, count from dead_letter_counts where count <> 0)
    (select 'rows' as side, * from (table counted except table kept) as missing)
    union all (select 'counters', * from (table kept except table counted) as wrong) limit 3`);
  for (const row of dead) world.say(`the dead letters are counted wrong: ${JSON.stringify(row)}`);
  // The attempt of a delivery that is discarded meanwhile is noted, and counted only if it ended before.
  const hours = await world.rows(`
    with made as (
      select d.endpoint_id, count(*)::int as most, count(*) filter (where d.status <> 'discarded')::int as least
      from delivery_attempts a
      join deliveries d on d.lane = a.lane and d.id = a.delivery_id group by 1
    ), counted as (
      select endpoint_id, sum(delivered + failed + abandoned)::int as hours from endpoint_hours group by 1
    )
    select e.url, e.id, coalesce(least, 0) as least, coalesce(most, 0) as most, coalesce(hours, 0) as hours
    from webhook_endpoints e
    left join made on made.endpoint_id = e.id left join counted on counted.endpoint_id = e.id
    where coalesce(hours, 0) not between coalesce(least, 0) and coalesce(most, 0) limit 5`);
  for (const row of hours) world.say(`hours and attempts differ: ${JSON.stringify(row)}`);
}

async function checkOrder(world) {
  world.faults.push(...findDisorder(world.observed));
}

async function verifyAudit(world) {
  const { json } = await call(world, 'POST', '/audit/verify', {
    body: world.auditHead ? { head: world.auditHead } : {},
  });
  if (!json.ok) world.say(`the audit log: ${JSON.stringify(json.problems.slice(0, 3))}`);
  world.auditHead = json.head;
}

async function restoreBackup(world) {
  if (world.backup === null) return;
  await withRestored(world, async (restored, { records, deliveries }) => {
    for (const tenant of records.tenants()) {
      await streamExport(restored, 0, { tenant }, 'ndjson');
      await readTree(restored, 0, tenant, 'month');
    }
    await checkCounters(restored);
    const rows = await restored.rows('select idempotency_key from deliveries');
    const held = new Set(rows.map((row) => row.idempotency_key));
    const missing = deliveries.filter((key) => !held.has(key));
    if (missing.length > 0) world.say(`a backup has not ${missing.slice(0, 3).join(', ')}`);
  });
}

/** Looks for the texts of erased records in the answers, the tables and the store. */
async function findErased(world) {
  for (const [marker, { content }] of world.erased) {
    if (content !== null && world.records.mayBeStored(content)) world.erased.delete(marker);
  }
  const markers = [...world.erased.keys()];
  if (markers.length === 0) return;
  const [{ hot }] = await world.rows(
    `select count(*)::int as hot from enrichment_records where substring(enrichment::text from 'mk[0-9a-f]{20}') = any($1)`,
    [markers],
  );
  if (hot > 0) world.say(`${hot} erased records are still in the table`);
  const [{ bodies }] = await world.rows(
    `select count(*)::int as bodies from incidents where substring(body from 'mki[^x]*x') = any($1)`,
    [markers],
  );
  if (bodies > 0) world.say(`${bodies} erased payloads are still in the table`);
  await findInPages(world, markers);
}

/** Looks for erased texts in the files of PostgreSQL. Tables that are written anew no more are large, and told as such. */
async function findInPages(world, markers) {
  await until(
    'erased rows to be taken out of the pages',
    async () => {
      const [{ due }] = await world.rows(
        `select count(*)::int as due from moves where kind = 'erase' and cardinality(scrub_due) > 0`,
      );
      if (due > 0) await finishRun(world);
      return due === 0;
    },
    60_000,
  ).catch(async (error) => {
    const due = await world.rows(`
      select name, pg_stat_get_dead_tuples(name::regclass)::int as dead, pg_stat_get_live_tuples(name::regclass)::int as live,
        pg_relation_size(name::regclass)::int as bytes,
        (select json_agg(a) from (select application_name, state, query from pg_stat_activity
          where backend_xmin is not null and pid <> pg_backend_pid()) a) as holders
      from moves, unnest(scrub_due) name`);
    throw new Error(`${error.message}: ${JSON.stringify(due).slice(0, 1500)}`);
  });
  const files = await world.rows(`
    select relname as name, pg_relation_filepath(pg_class.oid) as path from pg_class join pg_inherits on inhrelid = pg_class.oid
    where inhparent = 'enrichment_records'::regclass and pg_relation_size(pg_class.oid) between 1 and 16777216`);
  await world.rows('checkpoint');
  for (const { name, path } of files) {
    const bytes = readFileSync(join(world.ground.dir, path));
    for (const marker of markers) {
      if (bytes.includes(marker)) world.say(`the pages of ${name} still hold the erased ${marker}`);
    }
  }
}

/** What a disk was told to answer or a clock is set to, and what nobody can do but tell it. */
const told = /ENOSPC|EIO|RequestTimeTooSkewed/;

/** An error of level 50 is a mistake of ours, whatever was broken. */
async function readLogs(world) {
  for (const each of world.processes) {
    const text = readFileSync(join(each.dir, 'log'), 'utf8');
    const fresh = text.slice(each.logRead ?? 0);
    each.logRead = text.length;
    for (const line of fresh.split('\n')) {
      if (/"level":(50|60)/.test(line) && !told.test(line))
        world.say(`process ${each.at} logged ${line.slice(0, 600)}`);
    }
  }
}
