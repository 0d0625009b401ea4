-- The previous release survives this migration: it counts and exports as before, but does not know of groups. Freeze
-- versions with groups once it runs no more.

-- By what the records of the version are grouped, of which a group is in one split: a column or a path, as a where names
-- them. Null: each record by itself.
alter table dataset_versions add column group_by text;
-- How many of its records are in no group, because they have no value there; null until they are counted.
alter table dataset_versions add column ungrouped bigint;
