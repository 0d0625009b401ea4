-- Each process says which keys of webhook secrets it knows: keys are rotated while it runs.
-- The previous release survives this migration, until keys are rotated for the first time: what is encrypted from then
-- on it cannot open, and it does not start.

-- The ids of the keys, the one that encrypts first.
alter table processes add column secret_keys text[] not null default '{}';
