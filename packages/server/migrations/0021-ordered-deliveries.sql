-- The previous release survives this migration. It sends what is first of its key and leaves alone what waits behind it,
-- which is due so late that it never claims it; what goes next is decided by processes of this release. But what is
-- reported to one of its processes has no order, and what it retries goes at once.

alter table webhook_endpoints
  -- store or group: of the deliveries that have the same one, one goes after the other; null: no order
  add column ordered text,
  -- what becomes of the others when one is abandoned: block (they wait for an operator) or pass (the next goes)
  add column when_stuck text not null default 'block';

-- What its reporter says belongs together; null: nothing.
alter table incidents add column order_group text collate "C";

alter table deliveries
  -- Grows with the time at which it was accepted, in microseconds; of one key strictly, in the order of its reports.
  -- null: it was made before there were numbers.
  add column sequence bigint,
  -- the store or the group; null: it has no order
  add column order_key text collate "C",
  -- head: it is the one of its key that may go. waits: another is. joins: whoever passes a key on has to look at it.
  -- null: it has no order, or another went on in its place.
  add column order_state text;
alter table deliveries alter column sequence set default (extract(epoch from clock_timestamp()) * 1000000)::bigint;

-- What waits behind another, in its order.
create index deliveries_behind_idx on deliveries (endpoint_id, order_key, sequence)
  where order_state in ('waits', 'joins') and status = 'queued';
-- Keys to look at, because their head has ended or something joined them (true), and those whose head has failed (false).
create index deliveries_passing_idx on deliveries (
    (order_state = 'joins' or status in ('delivered', 'discarded') or coalesce(failure_class, '') = 'erased'), endpoint_id,
    order_key
  ) where order_state = 'joins' or order_state = 'head' and status <> 'queued';
create index webhook_endpoints_passing_idx on webhook_endpoints (id) where when_stuck = 'pass';

-- The keys of ordered endpoints of which something was not delivered yet. Whoever adds to a key, or lets the next of it
-- go, has its row locked.
create table order_keys (
  endpoint_id text collate "C" not null,
  key text collate "C" not null,
  -- the delivery that may go
  head text collate "C" not null,
  -- the last number that was given, and how many were given with it
  sequence bigint not null,
  added integer not null,
  constraint order_keys_pkey primary key (endpoint_id, key)
) with (fillfactor = 50);
