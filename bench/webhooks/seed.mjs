import { payloadOf } from './payload.mjs';

/**
 * Deliveries of an endpoint, put straight into the tables as the service would have left them; their
 * numbers begin after `offset`.
 */
export async function seedDeliveries(client, endpointId, count, options = {}) {
  const { status = 'queued', failureClass = 'status', ageSeconds = 3600, offset = 0 } = options;
  const isDue = status === 'queued';
  const body = JSON.stringify(payloadOf(1));
  await client.query(
    `with endpoint as (select * from webhook_endpoints where id = $1),
    numbers as (select n from generate_series($8::int + 1, $8::int + $2::int) as n),
    made as (
      insert into incidents (id, tenant, type, occurred_at, body)
      select 'inc_' || right(endpoint.id, 6) || '_' || n, tenant, 'incident.created', now(),
        replace($3, '"number":1,', '"number":' || n || ',')
      from endpoint, numbers
    )
    insert into deliveries (lane, id, incident_id, endpoint_id, tenant, event_type, target,
      idempotency_key, status, attempts, max_attempts, next_attempt_at, last_status, failure_class, error,
      created_at, last_attempt_at, finished_at)
    select lane, 'dlv_' || lpad(lane::text, 2, '0') || lpad(right(endpoint.id, 6) || lpad(n::text, 9, '0'), 18, '0'),
      'inc_' || right(endpoint.id, 6) || '_' || n, endpoint.id, tenant, 'incident.created', url,
      'msg_' || right(endpoint.id, 6) || lpad(n::text, 10, '0'), $4::text,
      case when $5 then 0 else 8 end, 8, case when $5 then now() end,
      case when $5 then null else 500 end, case when $5 then null else $6::text end,
      case when $5 then null else '500 Internal Server Error' end,
      now() - interval '1 day',
      case when $5 then null else now() - make_interval(secs => $7::float8 * n / ($8::int + $2::int)) end,
      case when $5 then null else now() end
    from endpoint, numbers`,
    [endpointId, count, body, status, isDue, failureClass, ageSeconds, offset],
  );
  if (!isDue) {
    await client.query(
      `insert into dead_letter_counts (endpoint_id, status, failure_class, tenant, count)
      select id, $2, $3, tenant, $4 from webhook_endpoints where id = $1
      on conflict (endpoint_id, status, failure_class) do update set count = dead_letter_counts.count + $4`,
      [endpointId, status, failureClass, count],
    );
  }
}

export async function settle(client) {
  await client.query('vacuum (analyze) deliveries');
  await client.query('vacuum (analyze) incidents');
}
