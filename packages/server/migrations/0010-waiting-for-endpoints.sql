-- Deliveries wait for disabled endpoints, and every secret rotated out within a day signs.
-- The previous release does not survive this migration: it knows one previous secret, in another column.

alter table webhook_endpoints
  -- since when it is disabled; null while enabled
  add column disabled_at timestamptz,
  -- the name of the operator's token; null while enabled, when the receiver did it, and when nobody knows
  add column disabled_by text,
  -- encrypted like secret, the newest first, each signs until its time
  add column previous_secrets bytea[] not null default '{}',
  add column previous_secrets_until timestamptz[] not null default '{}';
-- It was disabled then at the latest.
update webhook_endpoints set disabled_at = updated_at where not enabled;
update webhook_endpoints
  set previous_secrets = array[previous_secret], previous_secrets_until = array[previous_secret_until]
  where previous_secret is not null and previous_secret_until > now();
alter table webhook_endpoints
  drop column previous_secret,
  drop column previous_secret_until,
  add constraint webhook_endpoints_disabled_check check ((disabled_at is null) = enabled);

-- One that waited too long for its endpoint is abandoned without an attempt.
alter table deliveries
  drop constraint deliveries_abandoned_check,
  add constraint deliveries_abandoned_check check (
    status <> 'abandoned' or attempts >= 1 or failure_class is not distinct from 'endpoint_disabled'
  );

-- What discards the backlog of an endpoint, and then enables it; one at a time for an endpoint.
create unique index dead_letter_jobs_backlog_idx on dead_letter_jobs (endpoint_id)
  where action = 'discard_backlog' and state = 'running';
