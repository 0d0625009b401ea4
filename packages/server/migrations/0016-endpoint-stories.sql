-- The previous release survives this migration: it counts attempts without their times, and forgets hours after 14 days.

-- How many of the answers of an hour came within 5, 10, 15, … ms (webhooks/values.ts), the last: later than all.
alter table endpoint_hours add column answer_times integer[];

-- The newest twelve attempts at each endpoint, as delivery/number, the newest first. No index of deliveries finds them:
-- an old delivery may have been tried a moment ago.
create table endpoint_attempts (
  lane smallint not null,
  endpoint_id text collate "C" not null,
  recent text[] collate "C" not null,
  constraint endpoint_attempts_pkey primary key (lane, endpoint_id)
) with (fillfactor = 30);
