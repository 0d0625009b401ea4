-- What a process runs: svcctl serve, or svcctl drain, which is there for as long as something is due.
-- When a target of notices was told of what was open already; null: it will be.
-- The previous release survives this migration: its processes count as serving, and targets that it adds as told.
alter table processes add column command text not null default 'serve';
alter table notify_targets add column briefed_at timestamptz default now();
