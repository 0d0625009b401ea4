-- Where the row groups of a segment lie, each with its SHA-256.
-- The previous release survives this migration: it writes segments without them.

-- Pages of segments in a remote store fetch only the row groups that they need. Of a segment without this its object
-- is fetched whole. For a million records this is 3 KB.
alter table segments add column pieces json;
