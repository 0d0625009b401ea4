-- The previous release survives this migration: it copies no audit log.

-- How far the audit log is copied to a store beside the database.
create table audit_copies (
  -- the store, as people read it
  location text primary key,
  -- up to which place of the chain all entries are there
  place bigint not null default 0,
  copied_at timestamptz,
  -- since when nothing could be copied, and why; null: it can be
  failing_since timestamptz,
  error text,
  -- a process copies until then, and no other
  leased_until timestamptz
);
