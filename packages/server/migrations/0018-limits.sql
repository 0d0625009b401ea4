-- What access tokens and sign-ins have used of their limits, for all processes together.
-- The previous release survives this migration: each of its processes keeps limits by itself.

-- Unlogged, because it changes all the time and may be lost: after a crash of PostgreSQL nobody has used anything.
create unlogged table limit_use (
  name text collate "C" not null,
  subject text collate "C" not null,
  -- as of the time `at`; a share comes back each minute
  used double precision not null,
  at timestamptz not null,
  constraint limit_use_pkey primary key (name, subject)
);
