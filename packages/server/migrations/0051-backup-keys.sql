-- The previous release survives this migration: it neither reads nor writes these columns.

-- Since when a tenant that was erased whole has another key in backups, and when those of before were removed.
alter table erasures
  add column backup_key_ended_at timestamptz,
  add column backup_key_removed_at timestamptz;
create index erasures_backup_key_idx on erasures (tenant)
  where backup_key_ended_at is not null and backup_key_removed_at is null;
