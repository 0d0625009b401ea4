-- What erasures do to the files of PostgreSQL itself.
-- The previous release survives this migration: it ends erasures without that.

-- Tables whose files may still have what an erasure deleted; null: none, or no erasure.
alter table moves add column scrub_due text[];
-- {kept: tables too large to be written anew, hasCheckpoint}; null until it was tried
alter table moves add column scrubbed json;
