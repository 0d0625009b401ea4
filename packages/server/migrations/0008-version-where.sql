-- The previous release survives this migration: it counts and exports as before, but does not know what else holds of the
-- records of a version. Freeze versions with a where once it runs no more.

-- What holds of the records of the version beside its tags, as a where; null: nothing.
alter table dataset_versions add column where_text text;
-- Whether count, bytes and digest are known. The counters tell them unless there is a where; then the first counting does.
alter table dataset_versions add column is_counted boolean not null default true;
