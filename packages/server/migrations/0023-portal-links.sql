-- The previous release survives this migration: it neither makes links into the portal nor takes their sessions.

-- Links by which people of a tenant see its webhooks, and nothing else. A link is opened once, and then is the session.
create table portal_links (
  id text collate "C" not null,
  -- of the code in the link
  hash bytea not null,
  tenant text collate "C" not null,
  scope text collate "C" not null,
  -- for whom it was made, as its maker says; null: that was not said
  subject text,
  -- who made it: it counts only as long as that token does
  token_id text collate "C" not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  opened_at timestamptz,
  -- of the cookie; null: it was not opened yet
  session_hash bytea,
  address text,
  user_agent text,
  revoked_at timestamptz,
  constraint portal_links_pkey primary key (id)
);
create unique index portal_links_hash_idx on portal_links (hash);
create unique index portal_links_session_idx on portal_links (session_hash);
create index portal_links_expires_at_idx on portal_links (expires_at);
