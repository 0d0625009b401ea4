-- The previous release survives this migration: it queues whatever is reported, also beyond the bounds on what waits, its
-- processes do not tell what was held back, and they tell targets of a tenant nothing.

alter table webhook_endpoints
  -- Since when incidents were held back from it, because too much of its tenant waited, and until when: null while they
  -- are. Both are null when none were, or a replay has sent what was missed.
  add column held_back_from timestamptz,
  add column held_back_until timestamptz;
create index webhook_endpoints_held_back_idx on webhook_endpoints (id) where held_back_from is not null;

-- The endpoints that wanted it when it was reported, and from which it was held back.
alter table incidents add column held_back text[];

-- How many bytes are sent; null: the previous release has made it.
alter table deliveries add column size_bytes integer;

-- Whom a tenant has told of its own endpoints. The previous release reads kinds alone, which are none for such a target: it
-- tells it nothing, and so nothing of others.
alter table notify_targets
  -- null: it is told of all tenants
  add column tenant text collate "C",
  -- of what a tenant's target is told; null = all that there is for tenants
  add column tenant_kinds text[];
