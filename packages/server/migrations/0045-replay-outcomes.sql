-- The previous release survives this migration: it neither reads nor writes these columns.

-- What became of the deliveries of a replay is looked at until all have ended, as for bulk jobs. Of replays that were
-- made before, it is looked at once more, unless their deliveries may be forgotten.
alter table replays
  add column outcome json,
  add column looked_at timestamptz,
  add column look_at timestamptz default now(),
  add column settled_at timestamptz;
create index replays_look_idx on replays (look_at) where look_at is not null;
