-- The previous release survives this migration: it sends without these headers.

-- Headers that an operator adds to each request to an endpoint: their names, and names and values as JSON, sealed.
alter table webhook_endpoints
  add column header_names text[] not null default '{}',
  add column headers bytea;
