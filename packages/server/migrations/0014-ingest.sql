-- Lets a statement that stores records undo all that it did, and say why, without a round trip more.
-- The previous release survives this migration.

-- Fails with this SQLSTATE and detail.
create function refuse(code text, detail text) returns boolean
  language plpgsql as $$
begin
  raise exception using errcode = code, message = 'refused: ' || code, detail = detail;
end $$;
