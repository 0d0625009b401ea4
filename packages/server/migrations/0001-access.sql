-- Access tokens and the keys that the service signs with.

create table access_tokens (
  id text collate "C" not null,
  hash bytea not null,
  name text not null,
  scopes text[] not null,
  -- null: all tenants
  tenants text[] collate "C",
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  constraint access_tokens_pkey primary key (id),
  constraint access_tokens_hash_key unique (hash)
);

create table signing_keys (
  name text collate "C" not null,
  key bytea not null,
  constraint signing_keys_pkey primary key (name)
);
