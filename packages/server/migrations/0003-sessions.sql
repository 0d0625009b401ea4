-- Console sign-in. A session stands for the token it was opened with, and dies with it.

create table sessions (
  -- SHA-256 of the cookie's value
  hash bytea not null,
  token_id text collate "C" not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  constraint sessions_pkey primary key (hash)
);
create index sessions_expires_at_idx on sessions (expires_at);

-- One-time links that open a session without pasting a token.
create table sign_in_links (
  hash bytea not null,
  token_id text collate "C" not null,
  expires_at timestamptz not null,
  constraint sign_in_links_pkey primary key (hash)
);

-- One-time links that download an export.
create table export_links (
  hash bytea not null,
  token_id text collate "C" not null,
  -- the body of the export's request
  request json not null,
  expires_at timestamptz not null,
  constraint export_links_pkey primary key (hash)
);
