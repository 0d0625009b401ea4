-- The trace that an incident was reported in, so that the attempts of its deliveries are part of it.
-- The previous release survives this migration: it stores incidents without it.
alter table incidents add column trace_parent text collate "C";
