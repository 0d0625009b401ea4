-- Since when a run, a verification or an export waits for a store that does not answer, and what it said.
-- The previous release survives this migration: to it such work is under way, or queued.
alter table retention_runs
  add column waiting_since timestamptz,
  add column waiting_for text;
alter table verifications
  add column waiting_since timestamptz,
  add column waiting_for text;
alter table exports add column waiting_since timestamptz;
