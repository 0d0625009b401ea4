-- The previous release survives this migration: it goes on to do exports, but none with a `where`, which it would ignore.

-- Until when a job pauses whose not_before is infinity. That release does not take such a job, whatever becomes of it.
alter table exports add column due_at timestamptz;
