-- The previous release survives this migration, but knows nothing of subscriptions: what is reported to one of its
-- processes goes to all endpoints of its tenant that want its type, whatever their stores and filters say, and to those
-- with patterns whatever its type. So an endpoint gets too much of it, never too little.

alter table webhook_endpoints
  -- What event_types holds where a pattern such as incident.* is among it. Then event_types is {*} for the previous release;
  -- where it is anything else, that release has changed it since, and it counts.
  add column event_patterns text[],
  -- null: any store, and none
  add column stores text[],
  -- a where about the payload, as docs/where.md has it, and the MD5 by which a report names it
  add column filter text,
  add column filter_key uuid;

alter table incidents
  -- the endpoints that wanted its type and store, and whose filters let it not through; null: there was none
  add column filtered_out text[];
