-- Room on the pages of the counters for another version of each row.
-- The previous release survives this migration.

-- A part adds to many counters in one transaction. PostgreSQL rewrites a row in place (HOT) only if its page has room,
-- and the versions that a transaction replaces make none before its end. On full pages, hardly an update was in place
-- when a part added to most of their rows. Full pages save no space in the end: what is counted is counted again, and
-- the days once more when they are moved, so the old versions left half of each page empty.
-- Nothing is rewritten, and nobody has to wait. New pages have the room at once; a row of a full page leaves it with its
-- next change.
alter table leaf_days set (fillfactor = 50);
alter table leaf_months set (fillfactor = 50);
alter table leaf_stores set (fillfactor = 50);
alter table tenant_days set (fillfactor = 50);
alter table tenant_months set (fillfactor = 50);
alter table leaf_tenants set (fillfactor = 50);
