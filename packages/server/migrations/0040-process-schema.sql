-- What each process knows of the schema, so that a release whose migrations it does not survive can name it.
-- The previous release survives this migration: it leaves the column empty.
alter table processes add column migration text collate "C";
