-- The previous release survives this migration: it goes on to do exports, but no typed ones, which it leaves to newer
-- processes.

-- The columns of typed Parquet, as they were inferred; null for other files.
alter table exports add column typed_schema json;

-- Those of the version's first typed export, which all later ones have.
alter table dataset_versions add column typed_schema json;
