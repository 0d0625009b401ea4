-- The previous release survives this migration. An import that a killed process left open is not for it: its runs and
-- erasures of that tenant fail until a process of this release has ended the import.

-- Imports of whole days are moves, and few of them. The list of all jobs pages through them by this index.
create index moves_imports_idx on moves (planned_at, id) where kind = 'import';
