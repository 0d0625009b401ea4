-- The incidents of which a delivery failed, in the order of their list, of all tenants and of each.
-- The previous release survives this migration.

create index dead_letters_incident_idx on deliveries (created_at, incident_id)
  where status in ('pending', 'abandoned');
create index dead_letters_tenant_incident_idx on deliveries (tenant, created_at, incident_id)
  where status in ('pending', 'abandoned');
