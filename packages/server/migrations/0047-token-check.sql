-- The previous release survives this migration: it does not call this function, and looks each token up.

-- Undoes the statement that calls it unless the row of a token is still this version, and has not expired. It shares a lock
-- until the commit of its caller, and whoever has revoked or rotated tokens, and committed that, takes the lock alone before
-- they answer: so they wait for what was let through before, and what comes later sees their change. Where they wait
-- already, it waits for nothing, and has the token looked up. The check is a statement of its own, because it must see what
-- was committed before the lock was there. `for share` of the row would do the same, but a token that is used all the time
-- could then never be revoked: shared locks of rows let no other wait before them.
create function require_token(token_id text, version xid) returns boolean
  language plpgsql as $$
begin
  if not pg_try_advisory_xact_lock_shared(7340142) then
    return refuse('SV002');
  end if;
  return exists (
    select from access_tokens
    where id = token_id and xmin = version and revoked_at is null and coalesce(expires_at > now(), true)
  ) or refuse('SV002');
end $$;
