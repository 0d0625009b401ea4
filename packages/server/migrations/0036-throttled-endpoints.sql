-- Until when the receiver of an endpoint takes no more, and since when it has refused a delivery for that alone.
-- The previous release survives this migration: it counts such refusals as attempts, as before.
alter table webhook_endpoints add column throttled_until timestamptz;
alter table deliveries add column throttled_since timestamptz;
