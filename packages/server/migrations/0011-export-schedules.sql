-- The previous release survives this migration: it leaves the runs of schedules to processes of this one.

-- Exports that are delivered by themselves. A deleted schedule stays, because its runs tell where records went.
create table export_schedules (
  tenant text collate "C" not null,
  id text collate "C" not null,
  name text not null,
  -- five fields, in UTC
  cron text not null,
  format text collate "C" not null,
  -- the body of the export, as it was asked for
  request json not null,
  -- where it delivers, with placeholders such as {date}
  target text not null,
  -- of S3: the key's id, and the secret, sealed
  access_key_id text,
  secret bytea,
  enabled boolean not null default true,
  -- when the next run begins; null while it is paused
  due_at timestamptz,
  -- What was stored before this time was delivered, or stood before the beginning; null: nothing was.
  delivered_before timestamptz,
  created_by text not null,
  token_id text collate "C" not null,
  created_at timestamptz not null default now(),
  deleted_at timestamptz,
  constraint export_schedules_pkey primary key (tenant, id)
);
create unique index export_schedules_name_key on export_schedules (tenant, name) where deleted_at is null;
create index export_schedules_id_idx on export_schedules (id);
create index export_schedules_due_idx on export_schedules (due_at) where due_at is not null and deleted_at is null;

alter table exports
  -- the schedule that it is a run of; null: somebody asked for it
  add column schedule_id text collate "C",
  add column schedule_name text,
  -- the folder that it delivers into
  add column delivered_to text,
  -- what was delivered, once all but the marker is there: the files, and the text of the marker
  add column delivery json,
  -- when the marker was there, too
  add column delivered_at timestamptz;
create index exports_schedule_idx on exports (schedule_id, created_at, id) where schedule_id is not null;
-- those that lack only their marker
create index exports_unmarked_idx on exports (tenant, id) where delivery is not null and delivered_at is null;
