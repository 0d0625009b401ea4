-- Finds the endpoints that operators have disabled, of which OVERVIEW tells those with a backlog.
-- The previous release survives this migration: it only adds an index.
create index webhook_endpoints_held_idx on webhook_endpoints (tenant, id)
  where deleted_at is null and disabled_reason = 'operator';
