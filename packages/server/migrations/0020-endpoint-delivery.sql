-- The previous release survives this migration: it sends as if these settings had their defaults.

alter table webhook_endpoints
  -- how it is sent to, as far as that differs from the defaults, as the API shows it (webhooks/delivery-settings.contract.ts)
  add column delivery jsonb,
  -- the keys that belong to these settings, as JSON, sealed
  add column delivery_keys bytea;

-- What expires has no attempt either.
alter table deliveries
  drop constraint deliveries_abandoned_check,
  add constraint deliveries_abandoned_check check (
    status <> 'abandoned' or attempts >= 1 or coalesce(failure_class, '') in ('endpoint_disabled', 'erased', 'expired')
  ) not valid;
