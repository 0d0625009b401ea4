-- What runs give back to the disk. The previous release survives this migration.
alter table retention_runs add column freed_bytes bigint not null default 0;
