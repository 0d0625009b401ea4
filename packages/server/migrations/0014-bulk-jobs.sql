-- The previous release survives this migration. It leaves purges, and jobs of a type of event, to processes of this
-- release; what it re-arms names no job, and so is missing in what became of its rows.

-- Bulk jobs also purge. The action is retry, purge, discard or discard_backlog.
alter table dead_letter_jobs
  -- a type of events, or with a dot at its end all that begin so; null = any
  add column event_type text,
  -- When it may go on, of a job that the previous release cannot do: that one is told a later day, in position.
  add column due_at timestamptz,
  -- what became of its rows, when somebody last looked
  add column outcome json,
  add column looked_at timestamptz,
  -- when to look again; null: that is all that becomes of them
  add column look_at timestamptz,
  -- when the last of them had ended
  add column settled_at timestamptz;
create index dead_letter_jobs_look_idx on dead_letter_jobs (look_at) where look_at is not null;

-- The job that last changed a delivery together with others; null: none did, or somebody has retried it since.
alter table deliveries add column job_id text collate "C";
create index deliveries_job_idx on deliveries (job_id, created_at, id) where job_id is not null;
