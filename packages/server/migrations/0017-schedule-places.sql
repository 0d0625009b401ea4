-- The previous release survives this migration: it leaves schedules and their runs to processes of this one.

alter table export_schedules
  -- whether the end of each run is reported as an incident
  add column webhook boolean not null default false,
  -- the columns of typed Parquet, as they were found when it was made; null for other files
  add column typed_schema json;

alter table exports
  -- of a run that had begun when its schedule was led elsewhere: where it ends, and with which key; null: where the
  -- schedule delivers
  add column place text,
  add column place_key_id text,
  add column place_secret bytea,
  -- whether the end of the run is still to be reported as an incident
  add column untold boolean not null default false;
-- those that keep a secret
create index exports_place_idx on exports (tenant, id) where place_secret is not null;
create index exports_untold_idx on exports (tenant, id)
  where untold and (state = 'failed' or delivered_at is not null);
