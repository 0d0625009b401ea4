-- The previous release survives this migration: it leaves the columns empty, and a switch of which nothing is noted is
-- told to readers of Iceberg together with those before it.

------------------------------------------------------------------------------------ a snapshot of Iceberg per switch

-- what a segment that the move replaced held, and since when it was live: how it stood in the catalogue until then
alter table move_segments add column held json;

-- to find what was switched since the last snapshot
create index moves_switched_at_idx on moves (switched_at) where switched_at is not null;

-- when the catalogue came to say what a snapshot shows; null where that is the time of its id
alter table iceberg_snapshots add column switched_at timestamptz;
