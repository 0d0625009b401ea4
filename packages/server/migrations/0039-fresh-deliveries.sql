-- New deliveries go before those that wait for another attempt, so each kind is found along an index of its own.
-- The previous release survives this migration: it takes them in the order in which they came due.
create index deliveries_fresh_idx on deliveries (lane, endpoint_id, next_attempt_at)
  where next_attempt_at is not null and last_attempt_at is null;
create index deliveries_tried_idx on deliveries (lane, endpoint_id, next_attempt_at)
  where next_attempt_at is not null and last_attempt_at is not null;
