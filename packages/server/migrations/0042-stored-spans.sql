-- The previous release survives this migration: it stores parts without spans, which a tail then reads whole.

-- When the records of a part lie more than a minute apart: one that came late is not read with all that lies between. Null
-- where a part is read from first_at to last_at.
alter table stored_parts add column spans tstzmultirange;
