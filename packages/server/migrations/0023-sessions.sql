-- Sessions can be listed and ended one by one: each has an id, and tells from where it was opened.
-- The previous release survives this migration: it opens sessions that do not tell from where.

alter table sessions
  -- not id, which is a column of access_tokens that the previous release names without its table
  add column session_id text collate "C" not null default 'ses_' || replace(gen_random_uuid()::text, '-', ''),
  add column address text,
  add column user_agent text;
create unique index sessions_session_id_idx on sessions (session_id);
create index sessions_token_idx on sessions (token_id);
