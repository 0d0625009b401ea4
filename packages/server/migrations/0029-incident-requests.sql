-- The request that reported an incident, so that the log of the drainer can name it.
-- The previous release survives this migration: it stores incidents without it.
alter table incidents add column request_id text collate "C";
