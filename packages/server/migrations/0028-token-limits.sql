-- The previous release survives this migration, with one exception to mind: it does not know the addresses that a token
-- is limited to, so such a token is taken from anywhere by a process of that release. Nor does it take a secret that was
-- rotated out.

alter table access_tokens
  -- the networks from which it may be used, as CIDRs; null: from anywhere
  add column addresses text[],
  -- of the secret before the last rotation, and until when it is still taken
  add column previous_hash bytea,
  add column previous_ends_at timestamptz;
create unique index access_tokens_previous_hash_idx on access_tokens (previous_hash) where previous_hash is not null;
