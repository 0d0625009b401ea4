-- The previous release survives this migration. It takes a person for a token that nobody holds, and lists them as one; it
-- neither lets anybody in by the identity server, nor looks whether a person may still do what a token of theirs does.

-- A person who signs in with the company's identity is a row, too: whatever asks who did something, or who may, finds
-- them as it finds a token. No token has their hash.
alter table access_tokens
  -- who vouches for the person, and under which name; null: it is a token
  add column issuer text collate "C",
  add column subject text collate "C",
  -- the person who made it, or whose token did; it counts only while they may do as much
  -- null: nobody who signed in so
  add column person_id text collate "C";
create unique index access_tokens_person_idx on access_tokens (issuer, subject);

alter table sessions
  -- when it ends unless somebody does something in it until then; null: whatever nobody does
  add column idle_at timestamptz,
  -- the token that the identity server takes to sign the person out
  add column id_token text;
