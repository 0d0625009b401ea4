-- The previous release survives this migration: it neither knows nor needs the index.

-- When the first of an endpoint's own certificates ends, for those that have some: OVERVIEW asks of how many one ends soon.
-- These times are texts of one length, in UTC, which are in their order.
create index webhook_endpoints_certificate_idx on webhook_endpoints (
  (least(delivery #>> '{tls,certificate,expires_at}', delivery #>> '{tls,ca,expires_at}') collate "C")
) where deleted_at is null
  and least(delivery #>> '{tls,certificate,expires_at}', delivery #>> '{tls,ca,expires_at}') collate "C" is not null;
