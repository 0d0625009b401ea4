-- The previous release survives this migration: it seals nothing, and a process of this one seals what it writes. Where it
-- prunes the audit log (SVC_AUDIT_DAYS), verifications tell of a pruning that has no seal: svcctl audit reseal.

-- The seal of the audit log, in one row: a MAC over both ends of its chain, by a key that the database does not hold.
create table audit_seals (
  is_only boolean not null default true,
  -- of the key, which is one of those that webhook secrets are encrypted with
  key_id text not null,
  -- where the chain ended when it was sealed first
  since bigint not null,
  -- the newest place that was pruned, and its hash
  pruned_place bigint not null,
  pruned_hash bytea not null,
  -- the newest place that is sealed, and its hash, which covers all entries before it
  place bigint not null,
  hash bytea not null,
  mac bytea not null,
  constraint audit_seals_pkey primary key (is_only),
  constraint audit_seals_is_only_check check (is_only)
);
