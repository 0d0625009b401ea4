-- The previous release survives this migration: it keeps no views.

-- Pages of the console as somebody has set them, under a name.
create table saved_views (
  -- the token or the person
  owner_id text collate "C" not null,
  name text collate "C" not null,
  -- the page and its filters, as the hash of the console has them
  address text not null,
  -- the one that the address names; null: it names none
  tenant text collate "C",
  is_shared boolean not null,
  updated_at timestamptz not null default now(),
  constraint saved_views_pkey primary key (owner_id, name)
);
