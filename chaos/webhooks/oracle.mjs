const openRows = `select count(*)::int as count from deliveries
  where status in ('queued', 'pending', 'abandoned')`;

const wrongCounts = `
  with counted as (
    select endpoint_id, status, failure_class, count(*) as count from deliveries
    where status in ('pending', 'abandoned') group by 1, 2, 3
  ), kept as (
    select endpoint_id, status, failure_class, count from dead_letter_counts where count <> 0
  )
  select (select count(*) from (table counted except table kept) as missing)
    + (select count(*) from (table kept except table counted) as wrong) as count`;

const outcomes = `
  select d.idempotency_key, d.endpoint_id, d.status, count(a.number)::int as attempts,
    count(*) filter (where a.failure_class like 'timeout%')::int as timeouts,
    count(*) filter (where a.status = 429)::int as refusals
  from deliveries d
  left join delivery_attempts a on a.lane = d.lane and a.delivery_id = d.id
  group by d.lane, d.id`;

/** Rows that somebody says he is attempting: what may come twice, should he be killed now. */
export async function leasedKeys(database) {
  const rows = await database.rows(
    `select idempotency_key from deliveries where leased_until is not null`,
  );
  return rows.map((row) => row.idempotency_key);
}

/** How many lanes each drainer holds. */
export async function lanesByKeeper(database) {
  const rows = await database.rows(
    `select count(*)::int as lanes from pg_locks
     where locktype = 'advisory' and classid = 7340118 and granted group by pid`,
  );
  return rows.map((row) => row.lanes);
}

/** Groups of the dead-letter queue whose counter is not the number of its rows. */
export async function countWrongCounts(database) {
  const [{ count }] = await database.rows(wrongCounts);
  return Number(count);
}

export async function countOpenRows(database) {
  const [{ count }] = await database.rows(openRows);
  return count;
}

const backlogBefore = 6000;

/**
 * Gives an endpoint so long a backlog that a job discards it: copies of a row of the endpoint.
 */
export async function lengthenBacklog(database, endpointId) {
  await database.rows(
    `insert into deliveries (lane, id, incident_id, endpoint_id, tenant, event_type, target, idempotency_key, max_attempts)
     select lane, left(id, 13) || substr(md5(id || n), 1, 11), incident_id, endpoint_id, tenant, event_type, target,
       'copy_' || md5(id || n), max_attempts
     from (select * from deliveries where endpoint_id = '${endpointId}' limit 1) as one,
       generate_series(1, ${backlogBefore}) as n`,
  );
}

/**
 * What has become of everything, once all has come to rest. `leased` has how often, by webhook-id; `discards` when the
 * discarding of an endpoint's backlog was answered, by the endpoint's id: what was sent later has to be delivered.
 */
export async function judge({ cluster, receiver, load, leased, discards = new Map() }) {
  const rows = await cluster.database.rows(outcomes);
  const byKey = new Map(rows.map((row) => [row.idempotency_key, row]));
  const sum = { lost: 0, wrongBodies: 0, duplicates: 0, unexplained: 0 };
  for (const { n, keys, sentAt } of load.acknowledged) {
    for (const key of keys) {
      const seen = receiver.deliveries.get(key);
      const { status, endpoint_id: endpointId } = byKey.get(key) ?? {};
      const isKept = ['pending', 'abandoned', 'queued'].includes(status);
      const mayGo = status === 'discarded' && sentAt < discards.get(endpointId);
      if (!(seen?.accepted > 0) && !isKept && !mayGo) sum.lost += 1;
      if (seen !== undefined && JSON.parse(seen.body).data.n !== n) sum.wrongBodies += 1;
    }
  }
  for (const [key, seen] of receiver.deliveries) {
    if (seen.differs || !byKey.has(key)) sum.wrongBodies += 1;
    const extra = Math.max(0, seen.accepted - 1);
    // A 2xx that came too late counts as failed, and so it comes again.
    const mayRepeat = (leased.get(key) ?? 0) + (byKey.get(key)?.timeouts ?? 0);
    sum.duplicates += extra;
    sum.unexplained += Math.max(0, extra - mayRepeat);
  }
  const [{ stored, leases }] = await cluster.database.rows(
    `select (select count(*) from incidents)::int as stored,
      (select count(*) from deliveries where lease is not null)::int as leases`,
  );
  return {
    ...sum,
    deliveries: rows.length,
    attempts: rows.reduce((total, row) => total + row.attempts, 0),
    countedRefusals: rows.reduce((total, row) => total + row.refusals, 0),
    requests: [...receiver.deliveries.values()].reduce((total, seen) => total + seen.requests, 0),
    storedTwice: stored - load.acknowledged.length,
    leases,
    stuck: await countOpenRows(cluster.database),
    wrongCounts: await countWrongCounts(cluster.database),
  };
}
