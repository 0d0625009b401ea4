-- The previous release survives this migration: whoever polls there is not named.

-- The token of the last poll; null: none of this release.
alter table pull_places add column polled_by text;
