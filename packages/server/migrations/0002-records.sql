-- Enrichment records and the counters of their leaves.

-- The key is identity, read order and dedupe in one index. Text keys order by their bytes ("C"), as
-- Node and DuckDB order them. `enrichment` is json, not jsonb: it is kept and handed out to the letter.
create table enrichment_records (
  tenant text collate "C" not null,
  store text collate "C" not null,
  occurred_at timestamptz not null,
  event_id text collate "C" not null,
  recorded_at timestamptz not null,
  kind text collate "C",
  source text collate "C",
  model text collate "C",
  -- the decimal text that was sent: numeric would bend 1e-3 and 0.10
  confidence text collate "C",
  -- UTF-8 length of the record as one NDJSON line
  bytes integer not null,
  -- record_digest of the row: computed once, at ingest (6.9 µs a row in SQL, 1 µs in Node)
  digest bigint not null,
  enrichment json not null,
  constraint enrichment_records_pkey primary key (tenant, store, occurred_at, event_id)
) partition by range (occurred_at);

-- The digest of one record, computed from its content as kernel/digest.ts does, to check the stored
-- ones. A signed bigint: sum() over bigint is exact in numeric, and that mod 2^64 is the digest of the
-- set. concat_ws is 2.4 times as fast as a chain of ||.
create function record_digest(
  tenant text, store text, occurred_at timestamptz, event_id text,
  kind text, source text, model text, confidence text, enrichment json
) returns bigint language sql stable parallel safe as $$
  select ('x' || left(md5(concat_ws(
    e'\x1f', tenant, store, (extract(epoch from occurred_at) * 1000000)::bigint, event_id,
    coalesce(kind, e'\x01'), coalesce(source, e'\x01'), coalesce(model, e'\x01'),
    coalesce(confidence, e'\x01'), enrichment::text
  )), 16))::bit(64)::bigint
$$;

-- Counters per day, and their sums per month, store and tenant, all changed in the transaction that
-- changes the records. The digest is a sum mod 2^64.
create table leaf_days (
  tenant text collate "C" not null,
  store text collate "C" not null,
  day date not null,
  count bigint not null,
  bytes bigint not null,
  digest numeric(20, 0) not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  constraint leaf_days_pkey primary key (tenant, store, day)
);

create table leaf_months (
  tenant text collate "C" not null,
  store text collate "C" not null,
  -- YYYY-MM
  month text collate "C" not null,
  count bigint not null,
  bytes bigint not null,
  digest numeric(20, 0) not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  constraint leaf_months_pkey primary key (tenant, store, month)
);
create index leaf_months_month_idx on leaf_months (month, tenant, store);
create index leaf_months_store_idx on leaf_months (store, tenant, month);

create table leaf_stores (
  tenant text collate "C" not null,
  store text collate "C" not null,
  count bigint not null,
  bytes bigint not null,
  digest numeric(20, 0) not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  constraint leaf_stores_pkey primary key (tenant, store)
);
create index leaf_stores_store_idx on leaf_stores (store, tenant);

create table leaf_tenants (
  tenant text collate "C" not null,
  count bigint not null,
  bytes bigint not null,
  digest numeric(20, 0) not null,
  first_at timestamptz not null,
  last_at timestamptz not null,
  constraint leaf_tenants_pkey primary key (tenant)
);
