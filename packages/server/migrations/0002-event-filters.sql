-- The previous release survives this migration: it neither reads nor writes the column, and a segment without a filter
-- is searched.

alter table segments add column event_filter bytea;
